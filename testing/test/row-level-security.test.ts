import { readdirSync, readFileSync } from 'node:fs';
import type { Query, Statement } from '@crs/kit/data/database';
import { derivePassword, serviceUrl } from '@crs/kit/data/migration';
import { SECRET } from '@crs/testing/setup';
import { fillTenant, type Tenant } from '@crs/testing/tenant-rows';
import { startWorld, type OwnWorld } from '@crs/testing/world';
import { Client, type PoolClient } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SERVICES, type Service } from './_services.ts';

const TENANTS = ['acme', 'globex'] as const;
/** An organization without rows. */
const EMPTY_ORGANIZATION = 'nowhere';
const DENIED = '42501';
const SHARED_STATEMENTS = ['feed/feed', 'feed/heads', 'feed/list-records'];

let world: OwnWorld;
let tenants: Tenant[];
/** Connections with the services' roles. */
const clients = new Map<string, Client>();
/** All tables with the column `organization`. */
let tables: { name: string; service: string; isProtected: boolean }[];

beforeAll(async () => {
  world = await startWorld();
  tenants = [];
  for (const id of TENANTS) tenants.push(await fillTenant(world, id));
  await swapRights(tenants[1]!);
  for (const { name } of SERVICES) {
    const url = serviceUrl(world.databaseUrl, name, derivePassword(SECRET, name));
    const client = new Client({ connectionString: url });
    await client.connect();
    clients.set(name, client);
  }
  const { rows } = await world.query(
    `select n.nspname || '.' || c.relname as name, n.nspname as service, relrowsecurity as "isProtected"
      from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid and attname = 'organization'
      where relkind in ('r', 'p') and n.nspname = any($1) order by 1`,
    [SERVICES.map(({ name }) => name)],
  );
  tables = rows;
});
afterAll(async () => {
  for (const client of clients.values()) await client.end();
  await world?.close();
});

/** Bob becomes the creator of the project, and Ann its lead: users with the same ids have other rights in the other organization. */
async function swapRights({ id, annId, bobId }: Tenant): Promise<void> {
  await world.query('update auth.projects set created_by = $2 where organization = $1', [id, bobId]);
  await world.query('update auth.project_roles set user_id = $2 where organization = $1', [id, annId]);
}

const protectedTables = (service?: string) =>
  tables.filter((table) => table.isProtected && (service === undefined || table.service === service));

async function withoutRowSecurity<T>(service: string, work: () => Promise<T>): Promise<T> {
  const alter = async (how: 'disable' | 'enable') => {
    for (const { name } of protectedTables(service)) await world.query(`alter table ${name} ${how} row level security`);
  };
  await alter('disable');
  try {
    return await work();
  } finally {
    await alter('enable');
  }
}

/** Works in a transaction under a service's role, and rolls it back. If `organization` is undefined, the transaction sets none. */
async function as<T>(service: string, organization: string | undefined, work: (client: Client) => Promise<T>): Promise<T> {
  const client = clients.get(service)!;
  await client.query('begin');
  try {
    if (organization !== undefined) await client.query(`set local app.organization_id = '${organization}'`);
    return await work(client);
  } finally {
    await client.query('rollback');
  }
}

/** Removes the predicates on the organization. Keeps the parameter, because PostgreSQL must be able to infer its type. */
const withoutPredicates = (text: string) =>
  text.replaceAll(/("?\w+"?\.)?"?organization"? = (\$\d+)\b/g, (_match, _table, value) => `(${value}::text is not null)`);

/** Returns whether a statement reads or changes rows of its organization although the transaction is for another: none, one without rows, and one with the same ids. */
async function reachesFromOtherOrganization(client: Client, organization: string, { text, values }: Statement): Promise<boolean> {
  const twin = TENANTS.find((id) => id !== organization)!;
  let reaches = false;
  await client.query('savepoint elsewhere');
  for (const other of ['', EMPTY_ORGANIZATION, twin]) {
    await client.query(`rollback to savepoint elsewhere; set local app.organization_id = '${other}'`);
    try {
      const { command, rowCount, rows } = await client.query({ text: withoutPredicates(text), values: [...(values ?? [])] });
      if (other === twin) reaches ||= JSON.stringify(rows).includes(organization);
      else reaches ||= command === 'SELECT' ? rows.some(hasValue) : (rowCount ?? 0) > 0;
    } catch (error) {
      // Any error but a denied permission, such as that of a foreign key, means that rows were reached. For the twin, these may be its own.
      reaches ||= other !== twin && (error as { code?: string }).code !== DENIED;
    }
  }
  await client.query('rollback to savepoint elsewhere');
  return reaches;
}

/** Returns whether a row has any value, unlike a count of zero or an empty list. */
const hasValue = (row: object) => Object.values(row).some((value) => (Array.isArray(value) ? value.length > 0 : Boolean(value)));

/**
 * Sends every statement of a service for both organizations.
 * @returns the names of all statements, of those on tenant tables, and of those that reach rows of their organization under another one; and the results, in a
 * form that is equal in each run
 */
async function sendAll({ name: service, statements, ofAll = [] }: Service) {
  const [sent, onTables, reaching] = [new Set<string>(), new Set<string>(), new Set<string>()];
  const results: string[] = [];
  for (const tenant of tenants) {
    for (const send of statements) {
      await as(service, tenant.id, async (client) => {
        let last: Promise<unknown> = Promise.resolve();
        const run = async (statement: Statement) => {
          const { name, text, values } = statement;
          sent.add(name);
          if (tables.some((table) => text.replaceAll('"', '').includes(table.name))) {
            onTables.add(name);
            if (await reachesFromOtherOrganization(client, tenant.id, statement)) reaching.add(name);
          }
          const { rows, rowCount } = await client.query({ text, values: [...(values ?? [])] });
          if (!ofAll.includes(name)) results.push(`${tenant.id} ${name}: ${rowCount} rows ${comparable(tenant.id, rows)}`);
          return rows;
        };
        // A service may send statements concurrently. Here each waits for the previous one.
        const query = ((statement: Statement) => (last = last.then(() => run(statement)))) as unknown as Query;
        const returned = (await send(tenant, query, client as unknown as PoolClient)) ?? [];
        for (const statement of returned) await query(statement as Statement);
      });
    }
  }
  return { sent, onTables, reaching, results };
}

/** Returns the counts and flags in rows, and whether they contain text of the other organization. All other values differ from run to run. */
function comparable(organization: string, rows: object[]): string {
  const json = JSON.stringify(rows);
  const values = Array.from(json.matchAll(/":(\d+|true|false)/g), ([, value]) => value);
  return `${values.join(' ')} ${json.includes(TENANTS.find((id) => id !== organization)!) ? 'of both' : ''}`;
}

/** Returns patterns of the names of all statements that a service declares in store files with its tenant tables, to find statements that the test doesn't send. */
function declaredBy(service: string): RegExp[] {
  const store = new URL(`../../services/${service}/src/store/`, import.meta.url);
  const files = readdirSync(store).map((file) => readFileSync(new URL(file, store), 'utf8'));
  // The modules with statements that several services share, each on tables of its own schema.
  const shared = SHARED_STATEMENTS.filter((module) => files.some((source) => source.includes(`'@crs/records/${module}'`)));
  const sources = [
    ...files.filter((source) => protectedTables(service).some(({ name }) => source.includes(name))),
    ...shared.map((module) => readFileSync(new URL(`../../packages/records/src/${module}.ts`, import.meta.url), 'utf8')),
  ];
  const expressions = sources.flatMap((source) => source.match(/\bname: [^,\n]*['`][^,\n]*|\btoStatement\('\w+'/g) ?? []);
  const names = expressions.flatMap((expression) => [...expression.matchAll(/['`]([\w${}]+)['`]/g)].map(([, name]) => name!));
  return names.map((name) => new RegExp(`^${name.replaceAll(/\$\{\w+\}/g, '\\w+')}$`));
}

describe.each(SERVICES)('the statements of $name', (service) => {
  const { name, unprotected = [], withoutRows = [] } = service;

  it('reach no row of another organization, even without their predicates on the organization', async () => {
    const { sent, reaching } = await sendAll(service);
    expect([...reaching].toSorted()).toEqual(unprotected);
    const missing = declaredBy(name).filter((pattern) => ![...sent].some((each) => pattern.test(each)));
    expect(missing, 'declared, but not sent').toEqual([]);
  });

  it('all reach rows of another organization if neither predicates nor row-level security protect these', async () => {
    const { onTables, reaching } = await withoutRowSecurity(name, () => sendAll(service));
    expect([...onTables].filter((each) => !reaching.has(each)).toSorted()).toEqual(withoutRows);
  });

  it('reach no row of another organization without row-level security, because of their predicates', async () => {
    const { results } = await sendAll(service);
    expect((await withoutRowSecurity(name, () => sendAll(service))).results).toEqual(results);
  });
});

describe('every tenant table', () => {
  const organizationsIn = async (client: Client, table: string): Promise<string[]> =>
    (await client.query(`select distinct organization from ${table} order by 1`)).rows.map(({ organization }) => organization);
  /** Returns the row count of a statement, or the SQLSTATE of its error. */
  const outcomeOf = (service: string, organization: string | undefined, text: string, values: unknown[] = []) =>
    as(service, organization, (client) =>
      client.query(text, values).then(
        ({ rowCount }) => rowCount,
        ({ code }: { code: string }) => code,
      ),
    );

  it('has rows of both organizations in this test', async () => {
    for (const { name } of tables) {
      const { rows } = await world.query(`select distinct organization from ${name} where organization = any($1)`, [TENANTS]);
      expect(rows, name).toHaveLength(2);
    }
  });

  it.each([undefined, '', EMPTY_ORGANIZATION, 'Acme', 'acme '])('shows no row to the organization %j', async (organization) => {
    for (const { name, service } of protectedTables())
      expect(await as(service, organization, (client) => organizationsIn(client, name)), name).toEqual([]);
  });

  it('shows an organization only its own rows', async () => {
    for (const { name, service } of protectedTables()) {
      for (const id of TENANTS) expect(await as(service, id, (client) => organizationsIn(client, name)), name).toEqual([id]);
      expect(await outcomeOf(service, 'acme', `select 1 from ${name} where organization = 'globex'`), name).toBe(0);
    }
  });

  it('shows an operator above organizations no row, except for organizations and the audit trail', async () => {
    for (const { name, service } of protectedTables()) {
      const expected = ['auth.audit', 'auth.organizations'].includes(name) ? TENANTS : [];
      const found = await as(service, '*', (client) => organizationsIn(client, name));
      expect(
        found.filter((id) => id !== '*'),
        name,
      ).toEqual(expected);
    }
  });

  it.each([undefined, '', 'acme', '*'])(
    'protects the rows of an organization from changes by the organization %j',
    async (organization) => {
      for (const { name, service } of protectedTables()) {
        const isAudit = name === 'auth.audit';
        for (const statement of [
          `update ${name} set organization = organization where organization = 'globex'`,
          // An operator above organizations deletes old entries of the audit trail.
          ...(isAudit && organization === '*' ? [] : [`delete from ${name} where organization = 'globex'`]),
          // A lock on a row counts as a change. Nobody may lock entries of the audit trail.
          ...(isAudit ? [] : [`select 1 from ${name} where organization = 'globex' for update`]),
        ]) {
          expect([0, DENIED], statement).toContain(await outcomeOf(service, organization, statement));
        }
      }
    },
  );

  it('rejects a row of another organization, whether inserted or moved by an update', async () => {
    for (const { name, service } of protectedTables()) {
      const [schema, table] = name.split('.');
      const { rows: columns } = await world.query(
        `select string_agg(column_name, ', ') as list from information_schema.columns
          where table_schema = $1 and table_name = $2 and is_identity = 'NO' and is_generated = 'NEVER'`,
        [schema, table],
      );
      const { rows } = await world.query(`select to_json(t)::text as json from ${name} t where organization = 'globex' limit 1`);
      const { list } = columns[0];
      const copy = `insert into ${name} (${list}) select ${list} from json_populate_record(null::${name}, $1)`;
      for (const organization of [undefined, '', 'acme', '*'])
        expect(await outcomeOf(service, organization, copy, [rows[0].json]), `${organization} adds to ${name}`).toBe(DENIED);
      expect(await outcomeOf(service, 'acme', `update ${name} set organization = 'globex'`), name).toBe(DENIED);
      // Its own organization may add the row. Only the audit trail has no key that forbids the second one.
      expect(await outcomeOf(service, 'globex', copy, [rows[0].json]), name).toBe(name === 'auth.audit' ? 1 : '23505');
    }
  });

  it("can't be truncated, altered, given a policy or dropped by the service", async () => {
    for (const { name, service } of protectedTables()) {
      for (const statement of [
        `truncate ${name} cascade`,
        `alter table ${name} disable row level security`,
        `alter table ${name} no force row level security`,
        `create policy open on ${name} using (true)`,
        `drop policy owner on ${name}`,
        `drop table ${name}`,
      ]) {
        expect(await outcomeOf(service, 'acme', statement), statement).toBe(DENIED);
      }
    }
  });

  it('shows no row on a connection after its transaction for an organization has ended', async () => {
    for (const { name, service } of protectedTables()) {
      await as(service, 'acme', (client) => organizationsIn(client, name));
      expect(await organizationsIn(clients.get(service)!, name), name).toEqual([]);
    }
  });

  it.each(SERVICES)(
    'stays protected because $name may not create functions, views or tables, or assume other roles',
    async (service) => {
      for (const statement of [
        `create function ${service.name}.mine() returns int language sql as $$ select 1 $$`,
        `create view ${service.name}.everybody as select 1`,
        'create schema mine',
        'create table public.mine (id int)',
        'set role postgres',
        'set session authorization postgres',
      ]) {
        expect(await outcomeOf(service.name, 'acme', statement), statement).toBe(DENIED);
      }
    },
  );
});
