import type { Query } from '@crs/kit/data/database';

export interface OperatorRow {
  name: string;
  createdAt: Date;
  revokedAt: Date | null;
}

const COLUMNS = 'name, created_at as "createdAt", revoked_at as "revokedAt"';

export function findOperator(digest: Buffer) {
  return {
    name: 'find_operator',
    text: `select ${COLUMNS} from auth.operators where digest = $1 and revoked_at is null`,
    values: [digest],
  };
}

/** @returns undefined where a live operator has that name */
export async function insertOperator(query: Query, name: string, digest: Buffer): Promise<OperatorRow | undefined> {
  const [row] = await query<OperatorRow>({
    name: 'insert_operator',
    text: `insert into auth.operators (name, digest) values ($1, $2) on conflict do nothing returning ${COLUMNS}`,
    values: [name, digest],
  });
  return row;
}

export function listOperators(query: Query): Promise<OperatorRow[]> {
  return query<OperatorRow>({ name: 'list_operators', text: `select ${COLUMNS} from auth.operators order by name, created_at` });
}

/** Live ones, locked, so that two can't revoke the last two. */
export async function lockLiveOperators(query: Query): Promise<string[]> {
  const rows = await query<{ name: string }>({
    name: 'lock_live_operators',
    text: 'select name from auth.operators where revoked_at is null order by name for update',
  });
  return rows.map((row) => row.name);
}

export async function revokeOperator(query: Query, name: string): Promise<OperatorRow> {
  const [row] = await query<OperatorRow>({
    name: 'revoke_operator',
    text: `update auth.operators set revoked_at = now() where name = $1 and revoked_at is null returning ${COLUMNS}`,
    values: [name],
  });
  return row!;
}
