/** Types of columns, to declare the rows of a statement: `{ userId: column.uuid, name: column.text.orNull }`. */

/** A PostgreSQL type, and the type of its values in JavaScript. */
export interface Column<T> {
  /** Object ids of the PostgreSQL types that match. */
  readonly oids: readonly number[];
  readonly orNull: Column<T | null>;
  /** Exists only in types. */
  readonly value?: T;
}

export type Columns<Row> = { readonly [K in keyof Row]: Column<Row[K]> };

export type RowOf<C> = { [K in keyof C]: C[K] extends Column<infer T> ? T : never };

function column<T>(...oids: number[]): Column<T> {
  return {
    oids,
    get orNull() {
      return this as Column<T | null>;
    },
  };
}

export const text = column<string>(25);
export const varchar = column<string>(1043);
export const uuid = column<string>(2950);
export const boolean = column<boolean>(16);
export const integer = column<number>(23);
export const double = column<number>(701);
/** Decimal digits, because 64 bits don't fit into a number. */
export const bigint = column<string>(20);
export const bytes = column<Buffer>(17);
/** `timestamptz`, to the millisecond. */
export const timestamp = column<Date>(1184);
export const textArray = column<string[]>(1009);
export const uuidArray = column<string[]>(2951);

/** A text column with a closed set of values. */
export function oneOf<T extends string>(): Column<T> {
  return text as unknown as Column<T>;
}

/** A `json` or `jsonb` column, parsed. */
export function json<T>(): Column<T> {
  return column<T>(114, 3802);
}

/** The select list of a row whose columns are the snake-case names of its properties: `c.call_id as "callId", c.name`. */
export function selectList(columns: Columns<object>, table?: string): string {
  return Object.keys(columns)
    .map((property) => {
      const name = snakeCase(property);
      return `${table === undefined ? '' : `${table}.`}${name}${name === property ? '' : ` as "${property}"`}`;
    })
    .join(', ');
}

export function snakeCase(property: string): string {
  return property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
