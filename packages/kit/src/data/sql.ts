import knex, { type Knex } from 'knex';
import type { Columns } from './column.ts';
import type { NoRow, Statement } from './database.ts';

/** Builds statements whose shape depends on the request. It holds no connection. Fixed statements are written as text. */
export const sql: Knex = knex({ client: 'pg' });

/** A built query as a statement. Its text varies, so it is not prepared. */
export function built<Row = NoRow>(name: string, query: Knex.QueryBuilder | Knex.Raw, row?: Columns<Row>): Statement<Row> {
  const { sql: text, bindings } = query.toSQL().toNative();
  return { name, text, values: bindings, dynamic: true, ...(row && { row }) };
}
