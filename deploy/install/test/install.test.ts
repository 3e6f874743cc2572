import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { digestOf } from '@crs/kit/api-key';
import { createLogger } from '@crs/kit/process/log';
import { INHERITED } from '@crs/testing/inherited';
import { freePorts } from '@crs/testing/ports';
import { createDatabase, startTestPostgres, type TestDatabase, type TestPostgres } from '@crs/testing/postgres';
import { startRelay } from '@crs/testing/relay';
import { waitForDatabase } from '../src/database.ts';
import { Failure } from '../src/failure.ts';
import { install } from '../src/install.ts';
import { kubernetesSecrets } from '../src/kubernetes.ts';
import { prepareDatabase } from '../src/prepare-database.ts';
import { startCluster, type FakeCluster } from './_cluster.ts';

const LABELS = { 'app.kubernetes.io/part-of': 'call-research' };
const log = createLogger('test', { level: 'silent' });

// These tests need a server of their own: roles belong to the whole server, and their passwords change here.
let postgres: TestPostgres;
let database: TestDatabase;
let cluster: FakeCluster;
beforeAll(async () => {
  postgres = await startTestPostgres();
});
afterAll(() => postgres?.stop());
beforeEach(async () => {
  [database, cluster] = await Promise.all([createDatabase(postgres.url), startCluster()]);
});
afterEach(async () => {
  await cluster.stop();
  await database.drop();
});

const run = (adminUrl = database.url, serviceUrl?: string) =>
  install({ adminUrl, serviceUrl }, kubernetesSecrets(cluster.cluster, 'crs', LABELS), log);
const secret = (name: string) => cluster.secrets.get(`crs-${name}`)!.stringData;
async function query<Row>(connectionString: string, statement: string, values: unknown[] = []): Promise<Row[]> {
  const client = new Client({ connectionString });
  await client.connect();
  try {
    return (await client.query(statement, values)).rows as Row[];
  } finally {
    await client.end();
  }
}

describe('an installation', () => {
  it('makes secrets with which services connect as their roles, and an operator known to auth', async () => {
    await run();
    expect([...cluster.secrets.keys()].toSorted()).toEqual(
      ['auth', 'calls', 'entities', 'operator', 'projects', 'tool-gateway'].map((name) => `crs-${name}`),
    );
    for (const { type, metadata } of cluster.secrets.values()) {
      expect([type, metadata.labels]).toEqual(['Opaque', LABELS]);
      expect(metadata.annotations).toMatchObject({ 'argocd.argoproj.io/sync-options': 'Prune=false' });
    }
    for (const service of ['auth', 'calls', 'projects', 'entities']) {
      const statement = `select current_user as role, count(*)::int > 0 as migrated from ${service}.migrations`;
      expect(await query(secret(service)['DATABASE_URL']!, statement)).toEqual([{ role: `crs_${service}`, migrated: true }]);
    }
    const secrets = [secret('auth')['CRS_SECRET']!, secret('tool-gateway')['CRS_SECRET']!];
    for (const each of secrets) expect(each).toMatch(/^k1:[\w-]{43}$/);
    expect(secrets[0]).not.toBe(secrets[1]);
    const operator = JSON.parse(secret('operator')['operator.json']!);
    expect(operator).toEqual({
      name: expect.stringMatching(/^install-[0-9a-f]{8}$/),
      credential: expect.stringMatching(/^cro_/),
    });
    const known = await query(database.url, 'select name from auth.operators where digest = $1', [digestOf(operator.credential)]);
    expect(known).toEqual([{ name: operator.name }]);
  });

  it('changes no secret when it runs again, and resets roles to the passwords in their secrets', async () => {
    await run();
    const before = JSON.stringify([...cluster.secrets]);
    await query(postgres.url, `alter role crs_calls password 'another'`);
    await run();
    expect(JSON.stringify([...cluster.secrets])).toBe(before);
    expect(await query(secret('calls')['DATABASE_URL']!, 'select 1 as one')).toEqual([{ one: 1 }]);
    expect(await query(database.url, 'select count(*)::int from auth.operators')).toEqual([{ count: 1 }]);
  });

  it('gives the same result when it runs several times at once', async () => {
    await Promise.all([run(), run(), run()]);
    for (const service of ['auth', 'calls', 'projects', 'entities']) {
      expect(await query(secret(service)['DATABASE_URL']!, 'select 1 as one')).toEqual([{ one: 1 }]);
    }
    expect(await query(database.url, 'select count(*)::int from auth.operators')).toEqual([{ count: 1 }]);
  });

  it('keeps existing secrets, and writes the database address for services into new ones', async () => {
    const manifest = (name: string, stringData: Record<string, string>) =>
      cluster.secrets.set(`crs-${name}`, {
        apiVersion: 'v1',
        kind: 'Secret',
        type: 'Opaque',
        metadata: { name, labels: {} },
        stringData,
      });
    const own = new URL(database.url);
    [own.username, own.password] = ['crs_calls', 'p@ss/word of our own'];
    manifest('calls', { DATABASE_URL: own.href });
    await run(`${database.url}?user=postgres`, 'postgres://pooler.example:6432/research?sslmode=verify-full');
    expect(await query(own.href, 'select current_user as role')).toEqual([{ role: 'crs_calls' }]);
    expect(secret('auth')['DATABASE_URL']).toMatch(
      /^postgres:\/\/crs_auth:[\w-]{43}@pooler\.example:6432\/research\?sslmode=verify-full$/,
    );
  });

  it('puts the schema of a service on a server of its own', async () => {
    const own = await createDatabase(postgres.url);
    try {
      const apart = { calls: { adminUrl: own.url }, entities: undefined };
      await install({ adminUrl: database.url, apart }, kubernetesSecrets(cluster.cluster, 'crs', LABELS), log);
      const schemas = `select nspname as name from pg_namespace
        where nspname in ('auth', 'calls', 'entities', 'install', 'projects') order by 1`;
      const names = async (url: string) => (await query<{ name: string }>(url, schemas)).map(({ name }) => name);
      expect(await names(own.url)).toEqual(['calls']);
      expect(await names(database.url)).toEqual(['auth', 'entities', 'install', 'projects']);
      const ofCalls = 'select current_database() as name, count(*)::int > 0 as migrated from calls.migrations';
      expect(await query(secret('calls')['DATABASE_URL']!, ofCalls)).toEqual([{ name: own.name, migrated: true }]);
      expect(new URL(secret('projects')['DATABASE_URL']!).pathname).toBe(`/${database.name}`);
    } finally {
      await own.drop();
    }
  });

  it("leaves the roles of the server's other installation alone", async () => {
    await run();
    const [other, second] = await Promise.all([startCluster(), createDatabase(postgres.url)]);
    try {
      await expect(install({ adminUrl: second.url }, kubernetesSecrets(other.cluster, 'crs', LABELS), log)).rejects.toThrow(
        `The role crs_auth has rights in the database ${database.name} of ${new URL(second.url).host}, so another installation may use it. ` +
          'Give each installation a server of its own, or drop that database.',
      );
      expect(other.secrets.size).toBe(0);
      expect(await query(secret('auth')['DATABASE_URL']!, 'select 1 as one')).toEqual([{ one: 1 }]);
      // A restored database has the Secrets of the former one.
      await run(second.url);
    } finally {
      await other.stop();
      await second.drop();
    }
  });

  it('names an unusable secret', async () => {
    const put = (name: string, stringData: Record<string, string>) =>
      cluster.secrets.set(`crs-${name}`, {
        apiVersion: 'v1',
        kind: 'Secret',
        type: 'Opaque',
        metadata: { name, labels: {} },
        stringData,
      });
    put('auth', { DATABASE_URL: database.url });
    await expect(run()).rejects.toThrow('the Secret crs-auth has no CRS_SECRET.');
    put('auth', { DATABASE_URL: database.url, CRS_SECRET: 'x'.repeat(40) });
    await expect(run()).rejects.toThrow('DATABASE_URL in the Secret crs-auth must be a URL for the role crs_auth or crs_auth_b.');
    put('auth', { DATABASE_URL: database.url, CRS_SECRET: `a:${'x'.repeat(40)},a:${'y'.repeat(40)}` });
    await expect(run()).rejects.toThrow('CRS_SECRET in the Secret crs-auth names the id "a" twice');
  });
});

describe('a version', () => {
  const prepare = (version: string) =>
    prepareDatabase({
      adminUrl: database.url,
      loginOf: () => undefined,
      operator: { name: 'first', credential: 'cro_first' },
      version,
    });
  const schemas = () => query(database.url, `select nspname from pg_namespace where nspname in ('auth', 'calls')`);

  it('is installed, one minor version at a time, there and back', { timeout: 30_000 }, async () => {
    await run();
    await query(database.url, 'delete from install.releases');
    for (const version of ['0.1.0', '0.2.3', '0.1.4', '0.2.0', '0.3.0', '0.3.0']) await prepare(version);
    await expect(prepare('0.5.0')).rejects.toThrow(
      "Version 0.5.0 can't follow 0.3.0, because upgrades go one minor version at a time. " +
        'Install the newest 0.4.x first, wait until its pods have replaced all others, then install 0.5.0.',
    );
    await expect(prepare('0.1.0')).rejects.toThrow(
      "Version 0.1.0 can't run on this database, whose schema is that of 0.3.0: only 0.3 and the minor version before it can. " +
        'Install one of these, or restore the backup from before the upgrade.',
    );
  });

  it('that is refused changes nothing', async () => {
    await query(
      database.url,
      'create schema install; create table install.releases (version text primary key, begun_at timestamptz, installed_at timestamptz)',
    );
    await query(database.url, `insert into install.releases values ('9.9.9', now(), now())`);
    const failed = await run().catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(Failure);
    expect((failed as Error).message).toMatch(/can't run on this database, whose schema is that of 9\.9\.9/);
    expect(await schemas()).toEqual([]);
  });

  it('counts as running only once it is installed', async () => {
    await run();
    await query(database.url, 'delete from install.releases');
    await prepare('0.1.0');
    await query(postgres.url, 'alter role crs_calls superuser');
    await expect(prepare('0.2.0')).rejects.toThrow('Row-level security does not hold for the role crs_calls');
    await query(postgres.url, 'alter role crs_calls nosuperuser');
    await expect(prepare('0.3.0')).rejects.toThrow("can't follow 0.1.0");
    await prepare('0.2.0');
    await prepare('0.3.0');
  });
});

describe('the Kubernetes API', () => {
  it('is retried while it is busy', { timeout: 20_000 }, async () => {
    cluster.failures.push(503, 429);
    await run();
    expect(cluster.secrets.size).toBe(6);
  });

  it.each(['get', 'create'] as const)('that refuses to %s leads to a message about the Role', async (verb) => {
    cluster.allowed.delete(verb);
    await expect(run()).rejects.toThrow(
      `The ServiceAccount may not ${verb} the Secret crs-auth (status 403): its Role must allow that.`,
    );
  });
});

describe('the database', () => {
  it('is waited for until it answers', { timeout: 20_000 }, async () => {
    const relay = await startRelay(new URL(database.url).host);
    await relay.close();
    const through = new URL(database.url);
    through.host = relay.address;
    const installed = run(through.href);
    await sleep(1_500);
    expect(cluster.secrets.size).toBe(0);
    await relay.open();
    await installed;
    expect(cluster.secrets.size).toBe(6);
    await relay.close();
  });

  it('that stays away or refuses is named with its answer', { timeout: 20_000 }, async () => {
    const [port] = await freePorts(1);
    const failed = (adminUrl: string) => waitForDatabase({ adminUrl }, 1_500).catch((error: Error) => error);
    const away = await failed(`postgres://admin:secret@127.0.0.1:${port}/research`);
    expect(away).toBeInstanceOf(Failure);
    expect((away as Error).message).toBe(
      `The database can't be reached by MIGRATE_DATABASE_URL (127.0.0.1:${port}): ECONNREFUSED.`,
    );
    const url = new URL(database.url);
    url.password = 'wrong';
    expect((await failed(url.href)) as Error).toMatchObject({
      message: expect.stringContaining('refuses this role or password'),
    });
    url.href = database.url;
    url.pathname = '/nowhere';
    expect((await failed(url.href)) as Error).toMatchObject({ message: expect.stringContaining('no database of this name') });
  });

  it('gets a token from a file, which each connection reads anew', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'crs-test-'));
    const adminPasswordFile = join(folder, 'token');
    const url = new URL(database.url);
    [url.username, url.password] = ['tokens', ''];
    const store = kubernetesSecrets(cluster.cluster, 'crs', LABELS);
    const rotate = async (token: string) => {
      await query(postgres.url, `alter role tokens password '${token}'`);
      await writeFile(adminPasswordFile, `${token}\n`);
    };
    const installed = (betweenConnections = async () => {}) => {
      const read = async (name: string) => {
        await betweenConnections();
        return store.read(name);
      };
      return install({ adminUrl: url.href, adminPasswordFile }, { ...store, read }, log);
    };
    await query(postgres.url, 'create role tokens login superuser');
    try {
      await rotate('first');
      let rotated: Promise<void> | undefined;
      await installed(() => (rotated ??= rotate('second')));
      expect(rotated).toBeDefined();
      expect(secret('calls')['DATABASE_URL']).toMatch(/^postgres:\/\/crs_calls:[\w-]{43}@/);
      expect(await query(secret('calls')['DATABASE_URL']!, 'select 1 as one')).toEqual([{ one: 1 }]);
      await writeFile(adminPasswordFile, 'first');
      await expect(installed()).rejects.toThrow('it refuses this role or password');
    } finally {
      await query(database.url, 'reassign owned by tokens to current_user; drop owned by tokens');
      await query(postgres.url, 'drop role tokens');
      await rm(folder, { recursive: true });
    }
  });

  it('can be prepared by a role other than a superuser, as on a managed service', async () => {
    for (const service of ['auth', 'calls', 'projects', 'entities'])
      await query(postgres.url, `drop role if exists crs_${service}`);
    await query(postgres.url, `create role managed login createrole password 'managed'`);
    await query(postgres.url, `create role feeble login password 'feeble'`);
    const as = (role: string) => {
      const url = new URL(database.url);
      url.username = url.password = role;
      return url.href;
    };
    await expect(run(as('feeble'))).rejects.toThrow(
      `The role of MIGRATE_DATABASE_URL lacks rights for a migration (permission denied for database ${database.name}): ` +
        'it needs CREATEROLE, and CREATE on the database.',
    );
    await query(postgres.url, `grant create on database ${database.name} to feeble`);
    await expect(run(as('feeble'))).rejects.toThrow(
      'The role of MIGRATE_DATABASE_URL lacks rights for a migration (permission denied to create role): ' +
        'it needs CREATEROLE, and CREATE on the database.',
    );
    // The schema that the first attempt has made belongs to its role.
    await query(database.url, 'drop schema install cascade');
    await query(postgres.url, `grant create on database ${database.name} to managed`);
    await run(as('managed'));
    await run(as('managed'));
    expect(await query(secret('calls')['DATABASE_URL']!, 'select current_user as role')).toEqual([{ role: 'crs_calls' }]);
  });
});

describe('the program', () => {
  async function start(environment: Record<string, string>, name = 'main') {
    const child = spawn(process.execPath, [fileURLToPath(new URL(`../src/${name}.ts`, import.meta.url))], {
      env: { ...INHERITED, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const said = text(child.stderr);
    const [code] = await once(child, 'exit');
    return {
      code,
      messages: (await said)
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).msg as string),
    };
  }

  it('names a missing setting in a sentence', { timeout: 30_000 }, async () => {
    expect(await start({})).toEqual({
      code: 1,
      messages: ["The configuration can't be used: MIGRATE_DATABASE_URL: is required"],
    });
    expect(await start({ MIGRATE_DATABASE_URL: database.url })).toEqual({
      code: 1,
      messages: ["The configuration can't be used: CRS_SECRET_PREFIX: is required"],
    });
    expect(await start({ MIGRATE_DATABASE_URL: database.url, CRS_SECRET_PREFIX: 'crs' })).toEqual({
      code: 1,
      messages: [
        'KUBERNETES_SERVICE_HOST is not set: run this in a pod of Kubernetes. The install Job runs elsewhere with CRS_SECRET_DIR.',
      ],
    });
  });

  it('that renews certificates names a missing setting, too', { timeout: 30_000 }, async () => {
    const peers = { CRS_SECRET_PREFIX: 'crs', CRS_TLS_PEER_DOMAIN: 'crs.research.call-research' };
    expect(await start(peers, 'renew')).toEqual({
      code: 1,
      messages: ["The configuration can't be used: CRS_CERTIFICATES: is required"],
    });
    expect(await start({ ...peers, CRS_CERTIFICATES: 'auth,calls' }, 'renew')).toEqual({
      code: 1,
      messages: [
        'KUBERNETES_SERVICE_HOST is not set: run this in a pod of Kubernetes. The install Job runs elsewhere with CRS_SECRET_DIR.',
      ],
    });
  });

  it('of the toolbox runs until SIGTERM', { timeout: 30_000 }, async () => {
    const child = spawn(process.execPath, [fileURLToPath(new URL('../src/toolbox.ts', import.meta.url))]);
    const exited = once(child, 'exit');
    await sleep(1_500);
    expect(child.exitCode).toBe(null);
    child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
  });
});
