/** PostgreSQL servers and databases for tests. */
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@crs/kit/process/log';
import { startPostgres } from '@crs/local/postgres';
import type { Locale } from '@crs/local/postgres-cluster';
import pg from 'pg';

export interface TestPostgres {
  /** URL of a database of the server, as superuser. */
  url: string;
  pid: number;
  /** The file with PostgreSQL's log. */
  logFile: string;
  /** Stops the server and deletes its data. */
  stop(): Promise<void>;
}

export interface TestDatabase {
  /** As superuser. */
  url: string;
  name: string;
  /** Deletes the database, even while connections to it are open. */
  drop(): Promise<void>;
}

/** The start of the names of directories with PostgreSQL's data. */
export const TEST_DATA = 'crs-test-';

/**
 * Starts PostgreSQL in an empty temporary directory, without fsync: fast, but a crash of the machine may lose data.
 * @param parent the folder in which it creates the directory
 */
export async function startTestPostgres(locale: Locale = { icu: 'en-US' }, parent = tmpdir()): Promise<TestPostgres> {
  const dataDir = await mkdtemp(join(parent, TEST_DATA));
  // If root runs the tests, PostgreSQL runs as another user, who must be able to traverse this directory.
  await chmod(dataDir, 0o711);
  try {
    const log = createLogger('postgres', { level: 'error' });
    const postgres = await startPostgres({ dataDir, locale, fsync: false, log });
    return {
      url: postgres.url,
      pid: postgres.pid,
      logFile: join(dataDir, 'postgres/log'),
      stop: async () => {
        await postgres.stop();
        for (const path of [dataDir, postgres.cluster]) await rm(path, { recursive: true, force: true });
      },
    };
  } catch (error) {
    // If PostgreSQL's user can't reach this directory, its data is elsewhere, as this file says.
    const elsewhere = await readFile(join(dataDir, 'postgres/location'), 'utf8').catch(() => dataDir);
    for (const path of [elsewhere, dataDir]) await rm(path, { recursive: true, force: true });
    throw error;
  }
}

/**
 * Creates a database with a random name; on Citus, on each of its nodes.
 * @param adminUrl any database of the server, as superuser
 * @param template name of the database to copy, which must have no open connections; an empty database by default
 */
export async function createDatabase(adminUrl: string, template = 'template1'): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  const nodes = await nodesOf(adminUrl);
  // With fsync off, `file_copy` takes 17 ms and the default, `wal_log`, 50 ms.
  for (const node of nodes) {
    await execute(node, `create database ${name} template ${pg.escapeIdentifier(template)} strategy file_copy`);
  }
  return {
    url: urlOf(adminUrl, name),
    name,
    drop: async () => {
      // Refuse connections first: Citus's maintenance daemon could reconnect during the drop.
      if (nodes.length > 1) await refuseConnections(adminUrl, name);
      for (const node of nodes) await execute(node, `drop database if exists ${name} with (force)`);
    },
  };
}

/** Connects the databases of this name on all nodes of Citus. Does nothing on plain PostgreSQL. */
export async function joinNodes(adminUrl: string, name: string): Promise<void> {
  const nodes = (await nodesOf(adminUrl)).map((node) => new URL(urlOf(node, name)));
  if (nodes.length === 1) return;
  for (const node of nodes) await execute(node.href, 'create extension citus');
  const [coordinator, ...workers] = nodes as [URL, ...URL[]];
  await execute(coordinator.href, `select citus_set_coordinator_host('${coordinator.hostname}', ${coordinator.port})`);
  for (const { hostname, port } of workers) await execute(coordinator.href, `select citus_add_node('${hostname}', ${port})`);
}

/** Refuses all further connections to a database, also those of Citus's daemons, so that it can be copied. */
export async function refuseConnections(adminUrl: string, name: string): Promise<void> {
  for (const node of await nodesOf(adminUrl)) {
    await execute(node, `alter database ${name} allow_connections false`);
    await execute(node, `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '${name}'`);
  }
}

/** Returns the servers that hold parts of a database, the coordinator of Citus first. */
async function nodesOf(adminUrl: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  try {
    const { rows: found } = await client.query(`select 1 from pg_extension where extname = 'citus'`);
    if (found.length === 0) return [adminUrl];
    const { rows } = await client.query<{ host: string; port: number }>(
      'select nodename as host, nodeport as port from pg_dist_node order by groupid',
    );
    return rows.map(({ host, port }) => {
      const url = new URL(adminUrl);
      url.hostname = host;
      url.port = String(port);
      return url.href;
    });
  } finally {
    await client.end();
  }
}

function urlOf(server: string, database: string): string {
  const url = new URL(server);
  url.pathname = `/${database}`;
  return url.href;
}

async function execute(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
