import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';

const OPERATOR = { name: column.text, createdAt: column.instant, revokedAt: column.instant.orNull };
export type OperatorRow = column.RowOf<typeof OPERATOR>;

const COLUMNS = column.selectList(OPERATOR);

/** The live operator with this credential. */
export function findOperator(digest: Buffer): Statement<OperatorRow> {
  return {
    name: 'find_operator',
    row: OPERATOR,
    text: `select ${COLUMNS} from auth.operators where digest = $1 and revoked_at is null`,
    values: [digest],
  };
}

/** No row where a live operator has this name. */
export function insertOperator(name: string, digest: Buffer): Statement<OperatorRow> {
  return {
    name: 'insert_operator',
    row: OPERATOR,
    text: `insert into auth.operators (name, digest) values ($1, $2) on conflict do nothing returning ${COLUMNS}`,
    values: [name, digest],
  };
}

/** By name, revoked ones included. */
export function listOperators(): Statement<OperatorRow> {
  return { name: 'list_operators', row: OPERATOR, text: `select ${COLUMNS} from auth.operators order by name, created_at` };
}

/** Locks the live operators, so that two revocations can't remove the last two of them. */
export function lockLiveOperators(): Statement<{ name: string }> {
  return {
    name: 'lock_live_operators',
    row: { name: column.text },
    text: 'select name from auth.operators where revoked_at is null order by name for update',
  };
}

export function revokeOperator(name: string): Statement<OperatorRow> {
  return {
    name: 'revoke_operator',
    row: OPERATOR,
    text: `update auth.operators set revoked_at = now() where name = $1 and revoked_at is null returning ${COLUMNS}`,
    values: [name],
  };
}
