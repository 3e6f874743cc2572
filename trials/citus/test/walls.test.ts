import { derivePassword, serviceUrl } from '@crs/kit/data/migration';
import { SECRET } from '@crs/testing/setup';
import { fillTenant } from '@crs/testing/tenant-rows';
import { startWorld, type OwnWorld } from '@crs/testing/world';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

// Checks that row-level security alone isolates tenants, on Citus on all nodes. So no statement here has a predicate on the organization.

const ORGANIZATIONS = ['acme', 'globex'];

interface Table {
  name: string;
  /** Columns that can be inserted: neither generated nor identity columns. */
  columns: { name: string; isJson: boolean }[];
}

let world: OwnWorld;
let tables: Table[];

beforeAll(async () => {
  world = await startWorld();
  for (const id of ORGANIZATIONS) await fillTenant(world, id);
  const { rows } = await world.query(
    `select format('%s.%s', nspname, relname) as name, (
        select json_agg(json_build_object('name', attname, 'isJson', atttypid = 'jsonb'::regtype)) from pg_attribute
        where attrelid = c.oid and attnum > 0 and not attisdropped and attgenerated = '' and attidentity = '') as columns
      from pg_class c join pg_namespace n on n.oid = relnamespace
      where relforcerowsecurity and nspname in ('auth', 'projects', 'calls', 'entities', 'webhooks') order by 1`,
  );
  tables = rows;
});
afterAll(() => world?.close());

/** Works in a transaction for acme, under the role of the service that uses the table. */
async function asAcme<T>(table: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const [service] = table.split('.') as [string];
  const client = new pg.Client({ connectionString: serviceUrl(world.databaseUrl, service, derivePassword(SECRET, service)) });
  await client.connect();
  try {
    await client.query('begin');
    await client.query(`set local app.organization_id = 'acme'`);
    return await work(client);
  } finally {
    await client.end();
  }
}

const organizationsIn = (table: string) =>
  asAcme(table, async (client) => {
    const { rows } = await client.query(`select organization from ${table} group by organization order by 1`);
    return rows.map(({ organization }) => organization);
  });

async function rowsOf(table: string, organization: string): Promise<Record<string, unknown>[]> {
  return (await world.query(`select * from ${table} where organization = $1`, [organization])).rows;
}

describe('a statement without a predicate on the organization', () => {
  it('would find rows of both organizations in each tenant table', async () => {
    expect(tables.length).toBeGreaterThan(15);
    for (const { name } of tables)
      for (const id of ORGANIZATIONS) expect(await rowsOf(name, id), `${name} of ${id}`).not.toEqual([]);
  });

  it('reads only the rows of the organization of its transaction', async () => {
    for (const { name } of tables) expect(await organizationsIn(name), name).toEqual(['acme']);
  });

  it('reads no row if its transaction sets no organization', async () => {
    for (const { name } of tables) {
      const found = await asAcme(name, async (client) => {
        await client.query(`set local app.organization_id = ''`);
        return (await client.query(`select organization from ${name}`)).rows;
      });
      expect(found, name).toEqual([]);
    }
  });

  it('can not insert a row of another organization', async () => {
    for (const { name, columns } of tables) {
      const row = (await rowsOf(name, 'globex'))[0]!;
      const values = columns.map((column) => (column.isJson ? JSON.stringify(row[column.name]) : row[column.name]));
      const insert = `insert into ${name} (${columns.map((column) => column.name).join(', ')})
        values (${values.map((_, i) => `$${i + 1}`).join(', ')})`;
      await expect(
        asAcme(name, (client) => client.query(insert, values)),
        name,
      ).rejects.toThrow('row-level security');
    }
  });

  it('reads rows of both organizations once row-level security of a table is off', async () => {
    await world.query('alter table calls.calls disable row level security');
    expect(await organizationsIn('calls.calls')).toEqual(ORGANIZATIONS);
    await world.query('alter table calls.calls enable row level security');
  });

  it('deletes only the rows of the organization of its transaction', async () => {
    const deleted: string[] = [];
    // In this order, rows are deleted before those to which they refer.
    for (const { name } of tables.toReversed()) {
      const before = await rowsOf(name, 'globex');
      const ran = asAcme(name, async (client) => {
        const { rowCount } = await client.query(`delete from ${name}`);
        await client.query('commit');
        return rowCount;
      });
      // The rows are also protected if the role may not delete at all, or if a foreign key forbids it.
      if (await ran.catch((error: Error) => (/permission denied|foreign key/.test(error.message) ? 0 : Promise.reject(error))))
        deleted.push(name);
      expect(await rowsOf(name, 'globex'), name).toEqual(before);
    }
    expect(deleted).toContain('calls.calls');
    expect(deleted).toContain('entities.entities');
  });
});
