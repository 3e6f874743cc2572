import knex, { type Knex } from 'knex';
import type { Columns } from './column.ts';
import type { NoRow, Statement } from './database.ts';

/** A query builder without a connection, for statements whose shape depends on the request. Other statements are plain text. */
export const sql: Knex = knex({ client: 'pg' });

/** Converts a query of the builder into a statement. */
export function toStatement<Row = NoRow>(name: string, query: Knex.QueryBuilder | Knex.Raw, row?: Columns<Row>): Statement<Row> {
  const { sql: text, bindings } = query.toSQL().toNative();
  return { name, text, values: bindings, dynamic: true, ...(row && { row }) };
}
