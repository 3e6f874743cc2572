import knex, { type Knex } from 'knex';
import type { Statement } from './database.ts';

/** Builds statements whose shape depends on the request; it holds no connection. Fixed statements are written as text. */
export const sql: Knex = knex({ client: 'pg' });

/** A built query, to be run by `Database`. Not prepared, as its text varies. */
export function built(name: string, query: Knex.QueryBuilder | Knex.Raw): Statement {
  const { sql: text, bindings } = query.toSQL().toNative();
  return { name, text, values: bindings, dynamic: true };
}
