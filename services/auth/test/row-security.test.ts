import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ProjectRole } from '@crs/proto/crs/auth/v1/admin';
import { ALPHA, ANN, PEOPLE_AND_PROJECTS, serviceUrl, startAuthWorld, TENANTS, type AuthWorld } from './_fixtures.ts';

/** All tables of auth with row-level security. `catalog.test.ts` finds tables that lack it. */
const TABLES = ['api_keys', 'audit', 'grants', 'organizations', 'project_roles', 'projects', 'user_identities', 'users'] as const;
/** The table whose rows the service's role may only add, and delete when they are old. */
const APPEND_ONLY = 'audit';
const DENIED = { code: '42501' };

let world: AuthWorld;
let before: unknown;
/** A connection with the service's role. Its transactions are rolled back. */
let service: Client;

const snapshot = () =>
  Promise.all(
    TABLES.map((table) => world.rows(`select md5(string_agg(t::text, '|' order by t::text)) as hash from auth.${table} t`)),
  );

beforeAll(async () => {
  world = await startAuthWorld(PEOPLE_AND_PROJECTS);
  for (const tenant of TENANTS) {
    await world.createKey(tenant);
    const member = { projectId: ALPHA, email: ANN, role: ProjectRole.PROJECT_ROLE_LEAD };
    await world.operator.auth.addMember(member, await world.operate(tenant));
  }
  await world.rows(
    `insert into auth.grants (organization, grant_id, user_id, client, scopes, expires_at)
      select organization, 'grant_same', user_id, 'a test', '{calls:read}', now() + interval '1 hour' from auth.users where email = $1`,
    [ANN],
  );
  await world.rows(
    `insert into auth.user_identities (organization, issuer, subject, user_id)
      select organization, 'https://idp.example', 'same', user_id from auth.users where email = $1`,
    [ANN],
  );
  before = await snapshot();
});
afterAll(() => world?.close());
beforeEach(async () => {
  service = new Client({ connectionString: serviceUrl(world.databaseUrl) });
  await service.connect();
});
afterEach(async () => {
  await service.end();
});

/** Works in a transaction of a tenant. Undefined: no tenant is set. */
async function as<T>(tenant: string | undefined, work: () => Promise<T>): Promise<T> {
  await service.query('begin');
  try {
    if (tenant !== undefined) await service.query(`select set_config('app.organization_id', $1, true)`, [tenant]);
    return await work();
  } finally {
    await service.query('rollback');
  }
}
const organizationsIn = async (table: string) =>
  (await service.query(`select distinct organization from auth.${table} order by 1`)).rows.map(
    ({ organization }) => organization as string,
  );
/** The number of rows of a statement, or its SQLSTATE. */
const outcomeOf = (text: string, values: unknown[] = []) =>
  service.query(text, values).then(
    ({ rowCount }) => rowCount,
    ({ code }: { code: string }) => code,
  );

it('the tests cover every table with row-level security', async () => {
  const found = await world.rows(
    `select relname as table from pg_class where relrowsecurity and relnamespace = 'auth'::regnamespace order by 1`,
  );
  expect(found.map((row) => row['table'])).toEqual(TABLES);
});

describe.each(TABLES)('auth.%s', (table) => {
  it('has rows of both organizations', async () => {
    const rows = await world.rows<{ organization: string }>(`select distinct organization from auth.${table} order by 1`);
    expect(rows.map(({ organization }) => organization).filter((id) => id !== '*')).toEqual(TENANTS);
  });

  it.each([undefined, '', 'nowhere', 'Acme', 'acme '])('shows no row to the tenant %j', async (tenant) => {
    expect(await as(tenant, () => organizationsIn(table))).toEqual([]);
  });

  it('shows a tenant only its own rows, whatever the query', async () => {
    for (const tenant of TENANTS) {
      expect(await as(tenant, () => organizationsIn(table))).toEqual([tenant]);
      const other = TENANTS.find((id) => id !== tenant);
      expect(await as(tenant, () => outcomeOf(`select 1 from auth.${table} where organization = $1`, [other]))).toBe(0);
    }
  });

  it('protects rows from other tenants', async () => {
    for (const tenant of [undefined, '', 'acme', '*']) {
      const update = `update auth.${table} set organization = organization where organization = 'globex'`;
      expect(await as(tenant, () => outcomeOf(update)), `${tenant}: update`).toBe(table === APPEND_ONLY ? DENIED.code : 0);
      expect(
        await as(tenant, () => outcomeOf(`delete from auth.${table} where organization = 'globex'`)),
        `${tenant}: delete`,
      ).toBe(0);
      if (table !== APPEND_ONLY) {
        // A lock on a row counts as a change.
        const locked = await as(tenant, () => outcomeOf(`select 1 from auth.${table} where organization = 'globex' for update`));
        expect(locked, `${tenant}: for update`).toBe(0);
      }
    }
  });

  it('refuses to add or move a row to another tenant', async () => {
    const columns = await world.rows<{ name: string }>(
      `select column_name as name from information_schema.columns where table_schema = 'auth' and table_name = $1 and is_identity = 'NO'`,
      [table],
    );
    const list = columns.map(({ name }) => name).join(', ');
    const [row] = await world.rows<{ json: object }>(
      `select to_json(t) as json from auth.${table} t where organization = 'globex' limit 1`,
    );
    const copy = `insert into auth.${table} (${list}) select ${list} from json_populate_record(null::auth.${table}, $1)`;
    for (const tenant of [undefined, '', 'acme', ...(table === APPEND_ONLY ? [] : ['*'])]) {
      expect(await as(tenant, () => outcomeOf(copy, [JSON.stringify(row!.json)])), String(tenant)).toBe(DENIED.code);
    }
    expect(await as('acme', () => outcomeOf(`update auth.${table} set organization = 'globex'`))).toBe(DENIED.code);
    // Its own organization may insert the same row.
    const own = await as('globex', () => outcomeOf(copy, [JSON.stringify(row!.json)]));
    expect(own).toBe(table === APPEND_ONLY ? 1 : '23505');
  });

  it("can't be truncated, altered or opened by the role", async () => {
    for (const statement of [
      `truncate auth.${table} cascade`,
      `alter table auth.${table} disable row level security`,
      `alter table auth.${table} no force row level security`,
      `create policy open on auth.${table} using (true)`,
      `drop policy owner on auth.${table}`,
      `drop table auth.${table}`,
    ]) {
      expect(await as('acme', () => outcomeOf(statement)), statement).toBe(DENIED.code);
    }
  });
});

describe('above tenants', () => {
  it('only organizations and the audit trail can be read', async () => {
    const seen = await as('*', async () => {
      const rows: Record<string, string[]> = {};
      for (const table of TABLES) rows[table] = await organizationsIn(table);
      return rows;
    });
    expect(seen).toEqual({
      api_keys: [],
      audit: TENANTS,
      grants: [],
      organizations: TENANTS,
      project_roles: [],
      projects: [],
      user_identities: [],
      users: [],
    });
  });
});

describe('the tenant of a connection', () => {
  it('ends with its transaction', async () => {
    await as('acme', () => organizationsIn('users'));
    expect(await organizationsIn('users')).toEqual([]);
  });

  it("can't be forged by a view, a function or a search path that the role makes", async () => {
    for (const statement of [
      'create function auth.mine() returns int language sql as $$ select 1 $$',
      'create view auth.everybody as select * from auth.users',
      'create schema mine',
      'create table public.mine (id int)',
      'set role postgres',
      'set session authorization postgres',
    ]) {
      expect(await as('acme', () => outcomeOf(statement)), statement).toBe(DENIED.code);
    }
  });
});

it('these tests have changed nothing', async () => {
  expect(await snapshot()).toEqual(before);
});
