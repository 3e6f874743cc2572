import * as column from '@crs/kit/data/column';
import { asOwner, type AdminDatabase } from '@crs/kit/data/connection';
import type { Statement } from '@crs/kit/data/database';
import type { IndependentProgram } from '@crs/kit/rpc/identity';

const PROGRAM = { name: column.oneOf<IndependentProgram>() };

export function findProgram(digest: Buffer): Statement<column.RowOf<typeof PROGRAM>> {
  return { name: 'find_program', row: PROGRAM, text: 'select name from auth.programs where digest = $1', values: [digest] };
}

/** Stores the digest of a program's credential, as the owner of the schemas. Replaces an earlier one. */
export async function ensureProgram(admin: AdminDatabase, name: IndependentProgram, digest: Buffer): Promise<void> {
  await asOwner(admin, (client) =>
    client.query(
      'insert into auth.programs (name, digest) values ($1, $2) on conflict (name) do update set digest = excluded.digest',
      [name, digest],
    ),
  );
}
