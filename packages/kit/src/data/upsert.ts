import { types } from 'pg';
import { snakeCase, type Column, type Columns } from './column.ts';
import type { Statement } from './database.ts';

/**
 * Returns a statement that inserts whole rows of one organization, or replaces those with the same key. The rows of one statement must have different
 * keys. Columns have the snake-case names of the properties; none is an array or JSON.
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
    values: [
      organization,
      ...properties.map((property) => {
        const values = rows.map((row) => row[property]);
        return columns[property].oids[0] === types.builtins.TEXT ? textArray(values as (string | null)[]) : values;
      }),
    ],
  });
}

const NULL_LENGTH = -1;

/** Encodes a `text[]` in PostgreSQL's binary format. For the text format, the driver takes a second to escape 8 MiB of quotes. */
function textArray(values: readonly (string | null)[]): Buffer {
  const pieces = [int32s(values.length > 0 ? 1 : 0, 1, types.builtins.TEXT)];
  if (values.length > 0) pieces.push(int32s(values.length, 1));
  for (const value of values) {
    if (value === null) pieces.push(int32s(NULL_LENGTH));
    else {
      const bytes = Buffer.from(value);
      pieces.push(int32s(bytes.length), bytes);
    }
  }
  return Buffer.concat(pieces);
}

function int32s(...values: number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, i) => bytes.writeInt32BE(value, 4 * i));
  return bytes;
}

function typeName({ oids: [oid] }: Column<unknown>): string {
  const [name] = Object.entries(types.builtins).find(([, each]) => each === oid)!;
  return name.toLowerCase();
}
