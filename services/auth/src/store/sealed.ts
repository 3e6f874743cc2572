import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';
import { secretIdSql } from '@crs/kit/data/seal';

/** The tables with values encrypted under CRS_SECRET: the column, and an expression for the row's id, which is authenticated with the value. */
const COLUMNS = {
  token_keys: { sealed: 'private_key_sealed', row: 'key_id' },
  caller_keys: { sealed: 'private_key_sealed', row: 'key_id' },
  oidc_payloads: {
    sealed: 'payload_sealed',
    row: `model || ':' || rtrim(translate(encode(id_digest, 'base64'), '+/', '-_'), '=')`,
  },
  clients: { sealed: 'secret_sealed', row: 'client_id' },
  organizations: { sealed: 'oidc_client_secret_sealed', row: 'organization' },
};
export type SealedTable = keyof typeof COLUMNS;
export const SEALED_TABLES = Object.keys(COLUMNS) as SealedTable[];

const ROW = { row: column.text, sealed: column.bytes };
export type SealedRow = column.RowOf<typeof ROW>;

/** Counts values by the id of their secret. */
export function countSealed(table: SealedTable): Statement<{ secretId: string; count: number }> {
  const { sealed } = COLUMNS[table];
  return {
    name: `count_sealed_${table}`,
    row: { secretId: column.text, count: column.integer },
    text: `select ${secretIdSql(sealed)} as "secretId", count(*)::integer as count
      from auth.${table} where ${sealed} is not null group by 1`,
  };
}

export function sealedUnder(table: SealedTable, secretId: string, limit: number): Statement<SealedRow> {
  return listSealed('sealed_under', table, '=', secretId, limit);
}

export function notSealedUnder(table: SealedTable, secretId: string, limit: number): Statement<SealedRow> {
  return listSealed('not_sealed_under', table, '<>', secretId, limit);
}

function listSealed(
  name: string,
  table: SealedTable,
  operator: '=' | '<>',
  secretId: string,
  limit: number,
): Statement<SealedRow> {
  const { sealed, row } = COLUMNS[table];
  return {
    name: `${name}_${table}`,
    row: ROW,
    text: `select ${row} as "row", ${sealed} as sealed from auth.${table}
      where ${sealed} is not null and ${secretIdSql(sealed)} ${operator} $1 limit $2`,
    values: [secretId, limit],
  };
}

/** Skips values that have changed since they were read. */
export function replaceSealed(
  table: SealedTable,
  values: { row: string; before: Buffer; after: Buffer }[],
): Statement<{ row: string }> {
  const { sealed, row } = COLUMNS[table];
  return {
    name: `replace_sealed_${table}`,
    row: { row: column.text },
    text: `update auth.${table} set ${sealed} = r.after
      from unnest($1::text[], $2::bytea[], $3::bytea[]) as r (sealed_row, before, after)
      where ${sealed} = r.before and ${row} = r.sealed_row returning r.sealed_row as "row"`,
    values: [values.map((each) => each.row), values.map(({ before }) => before), values.map(({ after }) => after)],
  };
}
