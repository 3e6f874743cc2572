import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createLogger } from '@crs/kit/process/log';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { findPostgres } from '../src/postgres-binaries.ts';
import { startPostgres, type Postgres, type PostgresOptions } from '../src/postgres.ts';

vi.setConfig({ testTimeout: 20_000, hookTimeout: 20_000 });

const log = createLogger('postgres.test', { level: 'silent' });
process.umask(0o022);
const root = await mkdtemp(join(tmpdir(), 'crs test '));
await chmod(root, 0o711);
/** Shared by the tests of later starts, which run one after the other. */
const dataDir = join(root, 'data');
const home = join(dataDir, 'postgres');
const cluster = join(home, 'cluster');

let running: Postgres[] = [];
let children: ChildProcess[] = [];

afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  for (const postgres of running) await postgres.stop();
  [running, children] = [[], []];
});

afterAll(() => rm(root, { recursive: true, force: true, maxRetries: 5 }));

async function start(options: Partial<PostgresOptions> = {}): Promise<Postgres> {
  const postgres = await startPostgres({ dataDir, locale: 'C', fsync: false, log, ...options });
  running.push(postgres);
  return postgres;
}

/** Starts PostgreSQL from another process. */
async function supervise(): Promise<{ url: string; pid: number; child: ChildProcess }> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'supervise.ts'), dataDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  const [line] = await once(child.stdout, 'data');
  return { ...(JSON.parse(String(line)) as { url: string; pid: number }), child };
}

async function kill(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  await once(child, 'exit');
}

async function query(url: string, statement: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function until(condition: () => boolean): Promise<void> {
  for (let n = 0; !condition(); n++) {
    if (n === 500) throw new Error(`not within 10 s: ${condition.toString()}`);
    await delay(20);
  }
}

describe('a first start', () => {
  test('creates a database that requires its password, in a path with a space', async () => {
    const { url, port } = await start({ dataDir: join(root, 'fresh') });
    expect(await query(url, 'select current_database() as name')).toEqual([{ name: 'call_research' }]);
    await expect(query(`postgres://postgres:wrong@127.0.0.1:${port}/call_research`, 'select 1')).rejects.toThrow(
      'password authentication failed',
    );
    expect((await stat(join(root, 'fresh/postgres/password'))).mode & 0o777).toBe(0o600);
    await expect(query(url, `select 'canary-7431'::int`)).rejects.toThrow('canary-7431');
    const serverLog = await readFile(join(root, 'fresh/postgres/log'), 'utf8');
    expect(serverLog).toContain('password authentication failed');
    expect(serverLog, 'no values of statements').not.toContain('canary');
  });

  test('succeeds after a first start that was killed midway, and sorts by the given locale', async () => {
    const unfinished = join(root, 'icu/postgres/new-abc/cluster/base');
    await mkdir(unfinished, { recursive: true });
    await writeFile(join(unfinished, '1'), '');
    const { url } = await start({ dataDir: join(root, 'icu'), locale: { icu: 'en-US' } });
    expect((await readdir(join(root, 'icu/postgres'))).filter((name) => name.startsWith('new-'))).toEqual([]);
    expect(await query(url, `select string_agg(x, ' ' order by x) as letters from unnest(array['a', 'B', 'c']) x`)).toEqual([
      { letters: 'a B c' },
    ]);
  });
});

describe('a later start', () => {
  beforeAll(async () => {
    const postgres = await start();
    await query(postgres.url, 'create table kept (by text)');
    await postgres.stop();
  });

  test('finds the data after a stop', async () => {
    const first = await start();
    await query(first.url, `insert into kept values ('stopped')`);
    await first.stop();
    await first.stop();
    expect(isAlive(first.pid)).toBe(false);
    expect(await query((await start()).url, `select from kept where by = 'stopped'`)).toHaveLength(1);
  });

  test('finds the data after the supervisor was killed and the server has shut down', async () => {
    const { url, child } = await supervise();
    await query(url, `insert into kept values ('killed')`);
    await kill(child);
    await until(() => !existsSync(join(cluster, 'postmaster.pid')));
    expect(await query((await start()).url, `select from kept where by = 'killed'`)).toHaveLength(1);
  });

  test('finds the data after the supervisor was killed, while the server is still shutting down', async () => {
    const { url, child } = await supervise();
    await query(url, `insert into kept values ('just killed')`);
    await kill(child);
    expect(await query((await start()).url, `select from kept where by = 'just killed'`)).toHaveLength(1);
  });

  test('recovers after server and supervisor were killed at once', async () => {
    const { url, pid, child } = await supervise();
    await query(url, `insert into kept values ('all killed')`);
    process.kill(pid, 'SIGKILL');
    await kill(child);
    expect(await query((await start()).url, `select from kept where by = 'all killed'`)).toHaveLength(1);
  });

  test('waits until the last connection of a killed server has ended', async () => {
    const killed = await start();
    const client = new pg.Client({ connectionString: killed.url });
    client.on('error', () => {});
    await client.connect();
    const { pid } = (await client.query('select pg_backend_pid() as pid')).rows[0];
    process.kill(pid, 'SIGSTOP');
    process.kill(killed.pid, 'SIGKILL');
    await killed.stop();
    // Longer than all attempts take for any other reason.
    const resume = delay(3_000).then(() => process.kill(pid, 'SIGCONT'));
    const [{ url }] = await Promise.all([start(), resume]);
    expect(await query(url, 'select 1 as again')).toEqual([{ again: 1 }]);
  });

  test('stops a server that was left running', async () => {
    const orphan = await leaveServerRunning();
    await start();
    await until(() => orphan.exitCode !== null);
    expect(orphan.exitCode, 'shut down in order').toBe(0);
  });

  test('does not stop another program that now has the pid of the dead server', async () => {
    await writeFile(join(cluster, 'postmaster.pid'), `${process.pid}\n${cluster}\n1\n1\n\n127.0.0.1\n\nready\n`);
    await start();
  });

  test('reports a missing password file', async () => {
    await rename(join(home, 'password'), join(home, 'moved'));
    await expect(start()).rejects.toThrow('password is gone');
    await rename(join(home, 'moved'), join(home, 'password'));
  });

  test('quotes the log of a server that fails to start', async () => {
    const version = await readFile(join(cluster, 'PG_VERSION'));
    await writeFile(join(cluster, 'PG_VERSION'), '12\n');
    await expect(start()).rejects.toThrow('initialized by PostgreSQL version 12');
    await writeFile(join(cluster, 'PG_VERSION'), version);
  });
});

describe('the loss of a server', () => {
  test('is reported, and the server is not restarted', async () => {
    const lost = Promise.withResolvers<void>();
    const postgres = await start({ onLost: lost.resolve });
    process.kill(postgres.pid, 'SIGKILL');
    await lost.promise;
    await expect(query(postgres.url, 'select 1')).rejects.toThrow('ECONNREFUSED');
  });

  test('is not reported if the server was stopped', async () => {
    const onLost = vi.fn();
    const postgres = await start({ onLost });
    await postgres.stop();
    expect(onLost).not.toHaveBeenCalled();
  });
});

describe('a second start', () => {
  test('is refused with the id of the process that uses the directory', async () => {
    const { url, child } = await supervise();
    await expect(start()).rejects.toThrow(`is in use by process ${child.pid}:`);
    expect(await query(url, 'select 1 as still')).toEqual([{ still: 1 }]);
  });

  test('is refused in the same process too, until the first server has stopped', async () => {
    const first = await start();
    await expect(start()).rejects.toThrow(`is in use by process ${process.pid}:`);
    await first.stop();
    await start();
  });
});

describe.runIf(process.getuid?.() === 0)('a start as root, in a directory closed to the account of PostgreSQL', () => {
  const closed = join(root, 'closed');
  beforeAll(() => mkdir(closed, { mode: 0o700 }));

  test('stores the data elsewhere, and finds it again as long as the directory records the path', async () => {
    const first = await start({ dataDir: join(closed, 'data') });
    expect(first.cluster).toMatch(/^\/var\/lib\/call-research\/data-/);
    await query(first.url, 'create table kept ()');
    await first.stop();
    const second = await start({ dataDir: join(closed, 'data') });
    expect(await query(second.url, `select to_regclass('kept')::text as kept`)).toEqual([{ kept: 'kept' }]);
    await second.stop();
    await rm(join(closed, 'data'), { recursive: true });
    await rm(first.cluster, { recursive: true });
    const third = await start({ dataDir: join(closed, 'data') });
    expect(await query(third.url, `select to_regclass('kept')::text as kept`)).toEqual([{ kept: null }]);
    await third.stop();
    await rm(third.cluster, { recursive: true });
  });

  test('runs a copy of the PostgreSQL programs', async () => {
    const native = join(closed, 'native');
    await cp(join(findPostgres(log).bin, '..'), native, { recursive: true, verbatimSymlinks: true });
    const version = `test-${process.pid}`;
    const { bin } = findPostgres(log, { native, version });
    expect(bin).toBe(`/var/lib/call-research/postgres-${version}/bin`);
    await rm(join(bin, '..'), { recursive: true });
  });
});

/** Leaves the state after supervisor and watchdog were killed at once: a server without a supervisor. */
async function leaveServerRunning(): Promise<ChildProcess> {
  const { bin, account } = findPostgres(log);
  const args = ['-D', cluster, '-c', 'port=61999', '-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='];
  const orphan = spawn(join(bin, 'postgres'), args, { ...account, cwd: '/', stdio: 'ignore' });
  children.push(orphan);
  await until(() => existsSync(join(cluster, 'postmaster.pid')));
  return orphan;
}
