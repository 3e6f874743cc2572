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
  /** False is faster, but a crash of the machine may corrupt the data. For tests. */
  fsync: boolean;
  log: Logger;
  /** Further environment variables of PostgreSQL, such as those of a trial that moves its clock. */
  env?: Record<string, string>;
  /** Called when the server ends without `stop`. */
  onLost?: () => void;
}

export interface Postgres {
  /** URL of the database `call_research`, with the superuser's name and password. */
  url: string;
  /** Port on 127.0.0.1, different at each start. */
  port: number;
  pid: number;
  /** Directory of the cluster: in `dataDir`, unless this runs as root and PostgreSQL's account can't access `dataDir`. */
  cluster: string;
  /** Stops the server and unlocks the directory. Idempotent. */
  stop(): Promise<void>;
}

const DATABASE = 'call_research';

const SETTINGS = {
  max_connections: '200',
  shared_buffers: '256MB',
  max_wal_size: '2GB',
  // Without replicas, loading a new table needn't be logged.
  wal_level: 'minimal',
  max_wal_senders: '0',
  // For our queries, which take milliseconds, JIT compilation costs more than it saves.
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  // PostgreSQL's messages about failed statements quote values, which must not be logged. Errors that end the server or a connection are still logged.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_checkpoints: 'off',
};

const NOT_DURABLE = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', shared_buffers: '128MB' };

/**
 * Starts the project's PostgreSQL with its data in `dataDir`. First stops a server, or deletes an unfinished cluster, that a killed process left there.
 * @throws Error with what to do, if another process uses the directory or PostgreSQL can't run on this machine
 */
export async function startPostgres({ dataDir, locale, fsync, log, env, onLost }: PostgresOptions): Promise<Postgres> {
  const made = join(dataDir, 'postgres');
  await mkdir(made, { recursive: true });
  const home = await realpath(made);
  const lock = lockDirectory(home);
  try {
    const binaries = findPostgres(log);
    const { directory, password } = await openCluster({ ...binaries, home, locale, fsync, log });
    await stopOrphan(directory, log);
    const settings = fsync ? SETTINGS : { ...SETTINGS, ...NOT_DURABLE };
    const server = await startServer({ ...binaries, directory, settings, logFile: join(home, 'log'), log, env, onLost });
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
