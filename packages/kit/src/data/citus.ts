import type { Knex } from 'knex';

/**
 * Distributes the tenant tables of a schema over the nodes of Citus, by `organization`; does nothing on plain PostgreSQL. Tenant tables are those with
 * forced row-level security; all others stay on the coordinator. Idempotent, and works for tables with rows.
 *
 * Citus refuses a foreign key from a local table to a distributed one. So a migration that creates a table with such a key calls this function after
 * creating the table, and adds the key afterwards.
 * @throws Error with the table's name if Citus refuses it, or has distributed it differently
 */
export async function distributeTenants(db: Knex, schema: string): Promise<void> {
  if (!(await hasCitus(db))) return;
  // In one transaction, because meanwhile local tables would reference rows that have moved to the nodes.
  await db.transaction(async (transaction) => {
    await transaction.raw(`set local citus.multi_shard_modify_mode = 'sequential'`);
    for (const table of await undistributed(transaction, schema)) {
      await transaction
        .raw(`select create_distributed_table(?, 'organization', colocate_with => 'default')`, [table])
        .catch((error: Error) => {
          throw new Error(`Citus can't distribute the table ${table} by organization: ${error.message}`, { cause: error });
        });
    }
  });
  const { rows } = await db.raw<{ rows: { table: string }[] }>(
    `select format('%I.%I', nspname, relname) as table from pg_class c join pg_namespace n on n.oid = relnamespace
      left join citus_tables t on t.table_name = c.oid and citus_table_type = 'distributed' and distribution_column = 'organization'
        and colocation_id = (select min(colocation_id) from citus_tables where citus_table_type = 'distributed')
      where nspname = ? and relforcerowsecurity and t.table_name is null order by 1`,
    [schema],
  );
  if (rows.length > 0)
    throw new Error(`Citus has not distributed the table ${rows[0]!.table} by organization, colocated with the other tables.`);
}

async function hasCitus(db: Knex): Promise<boolean> {
  const { rows } = await db.raw(`select 1 from pg_extension where extname = 'citus'`);
  return rows.length > 0;
}

/** Lists the local tenant tables, each after those that it references. */
async function undistributed(db: Knex, schema: string): Promise<string[]> {
  const { rows } = await db.raw<{ rows: { table: string }[] }>(
    `with recursive tenants as (
        select c.oid from pg_class c where relnamespace = ?::regnamespace and relforcerowsecurity
      ),
      depths as (
        select oid, 0 as depth from tenants
        union
        select conrelid, depth + 1 from depths join pg_constraint on confrelid = depths.oid and contype = 'f' and conrelid <> confrelid
      )
      select format('%I.%I', nspname, relname) as table from depths join pg_class c using (oid) join pg_namespace n on n.oid = relnamespace
      where c.oid in (select oid from tenants) and not exists (select from pg_dist_partition where logicalrelid = c.oid)
      group by 1 order by max(depth), 1`,
    [schema],
  );
  return rows.map(({ table }) => table);
}
