// Puts the rows of an organization in the calls service back to what they were, as a restore of a backup does.

import type { World } from '@crs/testing/world';

const TABLES = ['calls', 'notes', 'call_days', 'changes', 'feeds', 'erasures', 'erased_calls'];

/** @returns a function that restores the rows as they are now */
export async function backUp(world: World, organization: string): Promise<() => Promise<void>> {
  const tables = await Promise.all(
    TABLES.map(async (table) => {
      const { rows: columns } = await world.query(
        `select string_agg(column_name, ', ' order by ordinal_position) as names from information_schema.columns
          where table_schema = 'calls' and table_name = $1 and is_generated = 'NEVER'`,
        [table],
      );
      const { rows } = await world.query(`select to_jsonb(t) as row from calls.${table} t where organization = $1`, [
        organization,
      ]);
      return { table, names: columns[0].names as string, rows: rows.map(({ row }) => row as object) };
    }),
  );
  return async () => {
    for (const { table } of tables) await world.query(`delete from calls.${table} where organization = $1`, [organization]);
    for (const { table, names, rows } of tables) {
      const text = `insert into calls.${table} (${names}) select ${names} from jsonb_populate_recordset(null::calls.${table}, $1)`;
      await world.query(text, [JSON.stringify(rows)]);
    }
  };
}
