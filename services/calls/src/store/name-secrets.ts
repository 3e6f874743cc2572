import { randomBytes } from 'node:crypto';
import * as column from '@crs/kit/data/column';
import type { Database, Query, Statement } from '@crs/kit/data/database';
import type { Scope } from '@crs/kit/data/scope';

const ROW = { secret: column.bytes };

/**
 * Returns the secret that keys an organization's anonymized names, and creates it if necessary. It is never cached: after an organization is
 * deleted and created again, a process with the old secret would show other names than the others.
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

/** @param read the secret as read along with calls: null if there is none yet, undefined if it wasn't read */
export async function nameSecretOf(db: Database, scope: Scope, read: Buffer | null | undefined): Promise<Buffer> {
  const [found] = read === undefined ? await db.read(scope, findNameSecret(scope.organization)) : [];
  return read ?? found?.secret ?? db.transact(scope, (query) => ensureNameSecret(query, scope.organization));
}
