import { types } from 'pg';
import { snakeCase, type Column, type Columns } from './column.ts';
import type { Statement } from './database.ts';

/**
 * A statement that writes whole rows of one organization. A row replaces the stored row with the same key. No two of the rows that are written at
 * once may have the same key. The columns are named as the properties are, in snake case; none of them is an array or JSON.
 */
export function upsert<Row extends object>({
  name,
  table,
  key,
  columns,
}: {
  name: string;
  table: string;
  /** The property that identifies a row in its organization. */
  key: keyof Row & string;
  columns: Columns<Row>;
}): (organization: string, rows: readonly Row[]) => Statement {
  const properties = Object.keys(columns) as (keyof Row & string)[];
  const arrays = properties.map((property, i) => `$${i + 2}::${typeName(columns[property])}[]`);
  const replaced = properties.filter((property) => property !== key).map(snakeCase);
  const text = `insert into ${table} (organization, ${properties.map(snakeCase).join(', ')})
    select $1, * from unnest(${arrays.join(', ')})
    on conflict (organization, ${snakeCase(key)}) do update set ${replaced.map((each) => `${each} = excluded.${each}`).join(', ')}`;
  return (organization, rows) => ({
    name,
    text,
    values: [organization, ...properties.map((property) => rows.map((row) => row[property]))],
  });
}

/** PostgreSQL's name of a column's type. */
function typeName({ oids: [oid] }: Column<unknown>): string {
  const [name] = Object.entries(types.builtins).find(([, each]) => each === oid)!;
  return name.toLowerCase();
}
