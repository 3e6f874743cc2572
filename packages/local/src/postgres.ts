import { mkdir, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Logger } from '@crs/kit/process/log';
import pg from 'pg';
import { lockDirectory } from './directory-lock.ts';
import { findPostgres } from './postgres-binaries.ts';
import { openCluster, type Locale } from './postgres-cluster.ts';
import { startServer, stopOrphan } from './postgres-server.ts';

export interface PostgresOptions {
  /** Created if absent. All of PostgreSQL's is in its subdirectory `postgres`. */
  dataDir: string;
  /** Takes effect when the cluster is made, at the first start. */
  locale: Locale;
  /** False, for tests: quick, and a crash of the machine may ruin the data. */
  fsync: boolean;
  log: Logger;
  /**
   * Has it started again, at the same address, whenever it ends by itself; called with the error when that fails. Without this it stays
   * down.
   */
  onLost?: (error: unknown) => void;
}

export interface Postgres {
  /** Database `call_research`, as superuser, with password. */
  url: string;
  /** On 127.0.0.1; another one at each start. */
  port: number;
  readonly pid: number;
  /** PostgreSQL's own directory: in `dataDir`, unless root runs it and the account that it uses can't reach that. */
  cluster: string;
  /** Stops the server and lets go of the directory. Stopping twice is one stop. */
  stop(): Promise<void>;
}

const DATABASE = 'call_research';

const SETTINGS = {
  max_connections: '200',
  shared_buffers: '256MB',
  max_wal_size: '2GB',
  // No replicas here, so what a fresh table is loaded with needs no log.
  wal_level: 'minimal',
  max_wal_senders: '0',
  // Costs more than it saves on queries of milliseconds.
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  // Messages of refused statements quote their values, which belong in no log; what ends the server or a connection is still told.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_checkpoints: 'off',
};

const NOT_DURABLE = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', shared_buffers: '128MB' };

/**
 * Starts the PostgreSQL that comes with the project on a directory of its own. What a killed process left behind there, a server or a
 * half-made cluster, is put right first.
 * @throws Error for the user, which says what to do: the directory is in use (by which pid), or PostgreSQL can't run here
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
    const options = { ...binaries, directory, settings, logFile: join(home, 'log'), log };
    let server = await startServer(options);
    const url = (database: string) => `postgres://postgres:${password}@127.0.0.1:${server.port}/${database}`;
    let stopped: Promise<void> | undefined;
    let starting: Promise<void> | undefined;
    const end = async () => {
      await starting?.catch(() => {});
      await server.stop();
    };
    const stop = () => (stopped ??= end().finally(() => lock.release()));
    const keep = async () => {
      for (;;) {
        await server.ended;
        if (stopped) return;
        starting = startServer({ ...options, port: server.port }).then((next) => void (server = next));
        await starting;
        log.info('PostgreSQL runs again');
      }
    };
    try {
      await ensureDatabase(url('postgres'));
    } catch (error) {
      await stop();
      throw error;
    }
    if (onLost) keep().catch((error: unknown) => stopped ?? onLost(error));
    return {
      url: url(DATABASE),
      port: server.port,
      get pid() {
        return server.pid;
      },
      cluster: dirname(directory),
      stop,
    };
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
