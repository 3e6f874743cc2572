import * as column from '@crs/kit/data/column';
import { asOwner, type AdminDatabase } from '@crs/kit/data/connection';
import type { Statement } from '@crs/kit/data/database';
import type { OperatorRole } from '@crs/kit/rpc/operators';

const OPERATOR = {
  name: column.text,
  role: column.oneOf<OperatorRole>(),
  organizations: column.textArray,
  createdAt: column.timestamp,
  expiresAt: column.timestamp.orNull,
  revokedAt: column.timestamp.orNull,
};
export type OperatorRow = column.RowOf<typeof OPERATOR>;

const COLUMNS = column.selectList(OPERATOR);
const IS_LIVE = 'revoked_at is null and (expires_at is null or expires_at > now())';

export function findOperatorByCredential(digest: Buffer): Statement<OperatorRow> {
  return {
    name: 'find_operator_by_credential',
    row: OPERATOR,
    text: `select ${COLUMNS} from auth.operators where digest = $1 and ${IS_LIVE}`,
    values: [digest],
  };
}

/** @param since when the operator was created (ISO 8601): a later operator of the same name is another one */
export function findOperator(name: string, since: string): Statement<OperatorRow> {
  return {
    name: 'find_operator',
    row: OPERATOR,
    text: `select ${COLUMNS} from auth.operators
      where name = $1 and created_at = $2::timestamptz and ${IS_LIVE}`,
    values: [name, since],
  };
}

interface NewOperator extends Pick<OperatorRow, 'name' | 'role'> {
  digest: Buffer;
  /** Empty: all. */
  organizations: readonly string[];
  /** 0: never. */
  expiresInSeconds: number;
}

/** No row if an operator that isn't revoked has this name. */
export function insertOperator({ name, digest, role, organizations, expiresInSeconds }: NewOperator): Statement<OperatorRow> {
  return {
    name: 'insert_operator',
    row: OPERATOR,
    text: `insert into auth.operators (name, digest, role, organizations, expires_at)
      values ($1, $2, $3, $4::text[], case when $5::bigint > 0 then now() + $5::bigint * interval '1 second' end)
      on conflict do nothing returning ${COLUMNS}`,
    values: [name, digest, role, organizations, expiresInSeconds],
  };
}

export function listOperators(): Statement<OperatorRow> {
  return { name: 'list_operators', row: OPERATOR, text: `select ${COLUMNS} from auth.operators order by name, created_at` };
}

/** Locks the operators that aren't revoked, so that two concurrent revocations can't remove the last two admins. */
export function lockOperators(): Statement<OperatorRow> {
  return {
    name: 'lock_operators',
    row: OPERATOR,
    text: `select ${COLUMNS} from auth.operators where revoked_at is null order by name for update`,
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

/**
 * Creates the first operator, as the owner of the schemas: no operator exists that could do it by RPC. Changes nothing if an operator that isn't
 * revoked has the name, or any operator has the credential.
 */
export async function ensureOperator(admin: AdminDatabase, name: string, digest: Buffer): Promise<void> {
  await asOwner(admin, (client) =>
    client.query('insert into auth.operators (name, digest) values ($1, $2) on conflict do nothing', [name, digest]),
  );
}
