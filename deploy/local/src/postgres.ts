import { mkdir, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Logger } from '@crs/kit/process/log';
import pg from 'pg';
import { lockDirectory } from './directory-lock.ts';
import { findPostgres } from './postgres-binaries.ts';
import { openCluster, type Locale } from './postgres-cluster.ts';
import { startServer, stopOrphan } from './postgres-server.ts';

export interface PostgresOptions {
  /** Created if absent. PostgreSQL's files are in its subdirectory `postgres`. */
  dataDir: string;
  /** Takes effect when the cluster is created, at the first start. */
  locale: Locale;
  /** False is quicker, and a crash of the machine may then ruin the data: for tests. */
  fsync: boolean;
  log: Logger;
  /** Called when the server ends without `stop`. */
  onLost?: () => void;
}

export interface Postgres {
  /** The database `call_research`, as superuser, with the password. */
  url: string;
  /** On 127.0.0.1; different at each start. */
  port: number;
  pid: number;
  /** The directory of the cluster: in `dataDir`, unless root runs this and PostgreSQL's account can't reach `dataDir`. */
  cluster: string;
  /** Stops the server and unlocks the directory. May be called twice. */
  stop(): Promise<void>;
}

const DATABASE = 'call_research';

const SETTINGS = {
  max_connections: '200',
  shared_buffers: '256MB',
  max_wal_size: '2GB',
  // There are no replicas, so loading a new table needs no log.
  wal_level: 'minimal',
  max_wal_senders: '0',
  // For queries of milliseconds, compiling costs more than it saves.
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  // PostgreSQL's messages about failed statements quote values, which belong in no log. Errors that end the server or a connection are still logged.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_checkpoints: 'off',
};

const NOT_DURABLE = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', shared_buffers: '128MB' };

/**
 * Starts the PostgreSQL that comes with the project in a directory of its own. A server or an unfinished cluster that a killed process left there is
 * cleaned up first.
 * @throws Error that tells the user what to do: another process uses the directory, or PostgreSQL can't run on this machine
 */
export async function startPostgres({ dataDir, locale, fsync, log, onLost }: PostgresOptions): Promise<Postgres> {
  const made = join(dataDir, 'postgres');
  await mkdir(made, { recursive: true });
  const home = await realpath(made);
  const lock = lockDirectory(home);
  try {
    const binaries = findPostgres(log);
    const { directory, password } = await openCluster({ ...binaries, home, locale, fsync, log });
    await stopOrphan(directory, log);
    const settings = fsync ? SETTINGS : { ...SETTINGS, ...NOT_DURABLE };
    const server = await startServer({ ...binaries, directory, settings, logFile: join(home, 'log'), log, onLost });
    const url = (database: string) => `postgres://postgres:${password}@127.0.0.1:${server.port}/${database}`;
    let stopped: Promise<void> | undefined;
    const stop = () => (stopped ??= server.stop().finally(() => lock.release()));
    try {
      await ensureDatabase(url('postgres'));
    } catch (error) {
      await stop();
      throw error;
    }
    return { url: url(DATABASE), port: server.port, pid: server.pid, cluster: dirname(directory), stop };
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function ensureDatabase(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [DATABASE]);
    if (rowCount === 0) await client.query(`create database ${DATABASE}`);
  } finally {
    await client.end();
  }
}
