import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';
import { secretIdSql } from '@crs/kit/data/encrypter';

/** The tables with values encrypted under CRS_SECRET: the column, and an expression for the row's id, which is authenticated with the value. */
const COLUMNS = {
  token_keys: { encrypted: 'private_key_encrypted', row: 'key_id' },
  caller_keys: { encrypted: 'private_key_encrypted', row: 'key_id' },
  oidc_payloads: {
    encrypted: 'payload_encrypted',
    row: `model || ':' || rtrim(translate(encode(id_digest, 'base64'), '+/', '-_'), '=')`,
  },
  clients: { encrypted: 'secret_encrypted', row: 'client_id' },
  organizations: { encrypted: 'oidc_client_secret_encrypted', row: 'organization' },
};
export type EncryptedTable = keyof typeof COLUMNS;
export const ENCRYPTED_TABLES = Object.keys(COLUMNS) as EncryptedTable[];

const ROW = { row: column.text, encrypted: column.bytes };
export type EncryptedRow = column.RowOf<typeof ROW>;

/** Counts values by the id of their secret. */
export function countEncrypted(table: EncryptedTable): Statement<{ secretId: string; count: number }> {
  const { encrypted } = COLUMNS[table];
  return {
    name: `count_encrypted_${table}`,
    row: { secretId: column.text, count: column.integer },
    text: `select ${secretIdSql(encrypted)} as "secretId", count(*)::integer as count
      from auth.${table} where ${encrypted} is not null group by 1`,
  };
}

export function encryptedUnder(table: EncryptedTable, secretId: string, limit: number): Statement<EncryptedRow> {
  return listEncrypted('encrypted_under', table, '=', secretId, limit);
}

export function notEncryptedUnder(table: EncryptedTable, secretId: string, limit: number): Statement<EncryptedRow> {
  return listEncrypted('not_encrypted_under', table, '<>', secretId, limit);
}

function listEncrypted(
  name: string,
  table: EncryptedTable,
  operator: '=' | '<>',
  secretId: string,
  limit: number,
): Statement<EncryptedRow> {
  const { encrypted, row } = COLUMNS[table];
  return {
    name: `${name}_${table}`,
    row: ROW,
    text: `select ${row} as "row", ${encrypted} as encrypted from auth.${table}
      where ${encrypted} is not null and ${secretIdSql(encrypted)} ${operator} $1 limit $2`,
    values: [secretId, limit],
  };
}

/** Skips values that have changed since they were read. */
export function replaceEncrypted(
  table: EncryptedTable,
  values: { row: string; before: Buffer; after: Buffer }[],
): Statement<{ row: string }> {
  const { encrypted, row } = COLUMNS[table];
  return {
    name: `replace_encrypted_${table}`,
    row: { row: column.text },
    text: `update auth.${table} set ${encrypted} = r.after
      from unnest($1::text[], $2::bytea[], $3::bytea[]) as r (encrypted_row, before, after)
      where ${encrypted} = r.before and ${row} = r.encrypted_row returning r.encrypted_row as "row"`,
    values: [values.map((each) => each.row), values.map(({ before }) => before), values.map(({ after }) => after)],
  };
}
