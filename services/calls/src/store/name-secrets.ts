import { randomBytes } from 'node:crypto';
import * as column from '@crs/kit/data/column';
import type { Query } from '@crs/kit/data/database';

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
  const [row] = await query({
    name: 'find_name_secret',
    row: ROW,
    text: 'select secret from calls.name_secrets where organization = $1',
    values: [organization],
  });
  return row!.secret;
}
