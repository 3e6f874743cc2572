import { randomBytes } from 'node:crypto';
import * as column from '@crs/kit/data/column';
import type { Database, Query, Statement } from '@crs/kit/data/database';
import type { Scope } from '@crs/kit/data/scope';

const ROW = { secret: column.bytes };

/**
 * The secret under which an organization's interviewees are anonymized, made where there is none. It is read with each call and never
 * remembered: a process that remembered it beyond the deletion of its organization would show other names than the other processes do
 * once an organization of the same id is created.
 */
export async function ensureNameSecret(query: Query, organization: string): Promise<Buffer> {
  await query({
    name: 'insert_name_secret',
    text: 'insert into calls.name_secrets (organization, secret) values ($1, $2) on conflict do nothing',
    values: [organization, randomBytes(32)],
  });
  const [row] = await query(findNameSecret(organization));
  return row!.secret;
}

function findNameSecret(organization: string): Statement<column.RowOf<typeof ROW>> {
  return {
    name: 'find_name_secret',
    row: ROW,
    text: 'select secret from calls.name_secrets where organization = $1',
    values: [organization],
  };
}

/** @param read the secret as it was read with calls; null: none was needed yet; undefined: it was not read */
export async function nameSecretOf(db: Database, scope: Scope, read: Buffer | null | undefined): Promise<Buffer> {
  const [found] = read === undefined ? await db.read(scope, findNameSecret(scope.organization)) : [];
  return read ?? found?.secret ?? db.transact(scope, (query) => ensureNameSecret(query, scope.organization));
}
