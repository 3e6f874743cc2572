import { inspect } from 'node:util';
import knexFactory, { type Knex } from 'knex';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { migrate } from '@crs/kit/data/migrate';
import { derivePassword, type Migration } from '@crs/kit/data/migration';
import { createDatabase, type TestDatabase } from '@crs/testing/postgres';
import { SECRET } from '@crs/testing/setup';
import { migrations } from '../migrations/index.ts';
import { query, serviceUrl } from './_fixtures.ts';

const NAMES = migrations.map(({ name }) => name);

let database: TestDatabase;
const drop = () => database.drop();
/** Creates an empty database, or copies the one with all migrations. */
const open = async (template?: string) => {
  database = await createDatabase(inject('postgresUrl'), template);
};

/** The setup has already made the role with this password. */
const password = derivePassword(SECRET, 'auth');
const up = (list: Migration[] = migrations, adminUrl = database.url) =>
  migrate({ adminUrl, service: 'auth', migrations: list, password });

async function down(list: Migration[] = migrations): Promise<void> {
  const db = knexFactory({ client: 'pg', connection: database.url, pool: { min: 1, max: 2 } });
  try {
    for (const migration of list.toReversed()) await migration.down(db);
    await db('auth.migrations').del();
  } finally {
    await db.destroy();
  }
}

/** A description of every object in the schema. */
const shape = async () =>
  (
    await query<{ line: string }>(
      database.url,
      `select format('column %s.%s %s %s %s %s', c.oid::regclass, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
          a.attcollation::regcollation, pg_get_expr(d.adbin, d.adrelid)) as line
        from pg_attribute a join pg_class c on c.oid = a.attrelid left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
        where c.relnamespace = 'auth'::regnamespace and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped
      union all select 'index ' || indexdef from pg_indexes where schemaname = 'auth'
      union all select format('constraint %s %s', conrelid::regclass, pg_get_constraintdef(oid)) from pg_constraint where connamespace = 'auth'::regnamespace
      union all select format('policy %s %s %s', policyname, tablename, qual) from pg_policies where schemaname = 'auth'
      union all select format('table %s %s %s %s', relname, relrowsecurity, relforcerowsecurity, relacl) from pg_class
        where relnamespace = 'auth'::regnamespace and relkind = 'r'
      order by 1`,
    )
  ).map(({ line }) => line);

const step = (name: string, work: (db: Knex) => Promise<unknown>): Migration => ({
  name,
  up: async (db) => void (await work(db)),
  down: async () => {},
});

it.each(NAMES)('the migration %s has a name with a time and a description', (name) => {
  expect(name).toMatch(/^\d{8}T\d{6}-[a-z]+(-[a-z]+)+$/);
  expect(NAMES).toEqual(NAMES.toSorted());
});

describe('the migrations of auth', () => {
  beforeEach(() => open());
  afterEach(drop);

  it('run on an empty database, do nothing the second time, leave nothing when rolled back, and then make the same schema again', async () => {
    expect(await up()).toEqual(NAMES);
    expect(await up()).toEqual([]);
    const first = await shape();
    expect(first.length).toBeGreaterThan(50);
    await down();
    expect((await shape()).filter((line) => !/auth\.migrations|table migrations/.test(line))).toEqual([]);
    expect(await up()).toEqual(NAMES);
    expect(await shape()).toEqual(first);
  });

  it('run after an earlier run that was interrupted before its first step', async () => {
    await up([]);
    expect(await up()).toEqual(NAMES);
  });

  it('run once, even if many start at the same time', async () => {
    const ran = await Promise.all(Array.from({ length: 3 }, () => up()));
    expect(ran.flat()).toEqual(NAMES);
    const slow = step('29990101T000000-take-a-while', (db) => db.raw('create table auth.late (id int); select pg_sleep(0.1)'));
    const again = await Promise.all(Array.from({ length: 3 }, () => up([...migrations, slow])));
    expect(again.flat()).toEqual([slow.name]);
  });

  it('run on two databases of one server at the same time', async () => {
    const other = await createDatabase(inject('postgresUrl'));
    try {
      for (let i = 0; i < 2; i++) await Promise.all([up(), up(migrations, other.url)]);
    } finally {
      await other.drop();
    }
  });
});

describe('the migrations of auth, once they have run', () => {
  beforeAll(() => open(inject('template')));
  afterAll(drop);

  it('keep the objects of a later version when an earlier one is installed again', async () => {
    const later = step('29990101T000000-make-later', (db) => db.raw('create table auth.later (id int)'));
    await up([...migrations, later]);
    expect(await up()).toEqual([]);
    expect(await query(database.url, `select to_regclass('auth.later') is not null as there`)).toEqual([{ there: true }]);
  });

  it('let the service connect as its role, and reset its password each time', async () => {
    await up();
    expect(await query(serviceUrl(database.url), 'select current_user as name')).toEqual([{ name: 'crs_auth' }]);
  });
});

describe('an interrupted migration', () => {
  beforeAll(() => open(inject('template')));
  afterAll(drop);

  /** A step that creates a table, and then runs the statement. */
  const createTableThen = (table: string, then: string) =>
    step(`29990101T000000-make-${table}`, async (db) => {
      await db.raw(`create table auth.${table} (id int)`);
      await db.raw(then);
    });
  const isThere = (table: string) => query(database.url, `select to_regclass('auth.${table}') is not null as there`);

  it('that was killed leaves no partial change, and no lock that stops the next one', async () => {
    const killed = up([...migrations, createTableThen('one', 'select pg_sleep(60)')]).catch((error: Error) => error);
    await expect
      .poll(() =>
        query(database.url, `select 1 from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()`),
      )
      .toHaveLength(1);
    // As after kill -9, all of its connections end at once.
    await query(
      database.url,
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
    );
    expect(await killed).toBeInstanceOf(Error);
    expect(await isThere('one')).toEqual([{ there: false }]);
    const whole = createTableThen('one', 'select 1');
    expect(await up([...migrations, whole])).toEqual([whole.name]);
    expect(await isThere('one')).toEqual([{ there: true }]);
  });

  it('that failed by itself leaves no partial change, and reports the reason', async () => {
    await expect(up([...migrations, createTableThen('two', 'select 1 / 0')])).rejects.toThrow(/division by zero/);
    expect(await isThere('two')).toEqual([{ there: false }]);
    const whole = createTableThen('two', 'select 1');
    expect(await up([...migrations, whole])).toEqual([whole.name]);
  });
});

describe('a migration role without superuser rights, as hosted databases have it', () => {
  const OWNER = 'test_owner';
  let ownerUrl: string;
  beforeAll(() => open());
  afterAll(drop);
  beforeEach(async () => {
    const url = new URL(database.url);
    url.username = OWNER;
    url.password = 'owner-password';
    ownerUrl = url.href;
    await query(database.url, `create role ${OWNER} login createrole password 'owner-password'`);
    await query(database.url, `grant create on database ${database.name} to ${OWNER}; grant crs_owner to ${OWNER}`);
  });
  afterEach(async () => {
    await query(database.url, `drop owned by ${OWNER} cascade; drop schema if exists hosted cascade`);
    await query(database.url, `drop role if exists crs_hosted`);
    await query(database.url, `drop role ${OWNER}`);
  });

  it("creates a service's role and lets it connect, and again at every upgrade", async () => {
    const options = { adminUrl: ownerUrl, service: 'hosted', migrations: [] };
    for (const each of ['first-password', `another ? $1 "password's" %s \\`]) {
      await migrate({ ...options, password: each });
      const url = new URL(database.url);
      url.username = 'crs_hosted';
      url.password = encodeURIComponent(each);
      expect(
        await query(url.href, 'select rolsuper or rolbypassrls as above from pg_roles where rolname = current_user'),
      ).toEqual([{ above: false }]);
    }
  });

  it('gets an error that names the missing right, but never the password', async () => {
    await query(database.url, 'create role crs_hosted login');
    const attempt = migrate({ adminUrl: ownerUrl, service: 'hosted', migrations: [], password: 'a-secret-password' });
    const error = await attempt.catch((thrown: unknown) => thrown);
    expect(inspect(error, { depth: 9, showHidden: true })).toMatch(/permission denied to alter role/);
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('a-secret-password');
  });

  it("refuses a service's role that bypasses row-level security", async () => {
    await query(database.url, 'create role crs_hosted login bypassrls');
    await expect(migrate({ adminUrl: database.url, service: 'hosted', migrations: [] })).rejects.toThrow(/crs_hosted/);
  });

  it('sees every row in a backfill, although row-level security is forced on it as well', async () => {
    // Without a password, the migration leaves the role unchanged.
    await migrate({ adminUrl: ownerUrl, service: 'auth', migrations });
    const owner = new Client({ connectionString: ownerUrl });
    await owner.connect();
    try {
      await owner.query(`insert into auth.organizations (organization) values ('acme'), ('globex')`);
      const backfill = step('29990101T000000-name-organizations', (db) =>
        db.raw(`update auth.organizations set name = 'The ' || organization`),
      );
      await migrate({ adminUrl: ownerUrl, service: 'auth', migrations: [...migrations, backfill] });
      expect((await owner.query('select name from auth.organizations order by 1')).rows).toEqual([
        { name: 'The acme' },
        { name: 'The globex' },
      ]);
      // Without the policy, the rows are hidden from their owner, too.
      await owner.query('drop policy owner on auth.organizations');
      expect((await owner.query('update auth.organizations set name = null')).rowCount).toBe(0);
    } finally {
      await owner.end();
    }
  });
});
