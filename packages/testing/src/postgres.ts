import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@crs/kit/process/log';
import { startPostgres } from '@crs/local/postgres';
import type { Locale } from '@crs/local/postgres-cluster';
import pg from 'pg';

export interface TestPostgres {
  /** A database of the server, as superuser. */
  url: string;
  pid: number;
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

/** Starts a real PostgreSQL in an empty temporary directory. It is quick, and a crash of the machine may lose its data. */
export async function startTestPostgres(locale: Locale = 'C'): Promise<TestPostgres> {
  const dataDir = await mkdtemp(join(tmpdir(), 'crs-test-'));
  // Where root runs the tests, PostgreSQL runs as another user, who must be able to pass through this directory.
  await chmod(dataDir, 0o711);
  try {
    const log = createLogger('postgres', { level: 'error' });
    const postgres = await startPostgres({ dataDir, locale, fsync: false, log });
    return {
      url: postgres.url,
      pid: postgres.pid,
      stop: async () => {
        await postgres.stop();
        for (const path of [dataDir, postgres.cluster]) await rm(path, { recursive: true, force: true });
      },
    };
  } catch (error) {
    await rm(dataDir, { recursive: true, force: true });
    throw error;
  }
}

/**
 * Creates a database with a random name.
 * @param adminUrl any database of the server, as superuser
 * @param template name of the database to copy, to which no connection may be open; an empty database by default
 */
export async function createDatabase(adminUrl: string, template = 'template1'): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  // Copying files takes 17 ms and the default, copying through the log, takes 50 ms, as long as nothing is flushed to disk.
  await execute(adminUrl, `create database ${name} template ${pg.escapeIdentifier(template)} strategy file_copy`);
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return { url: url.href, name, drop: () => execute(adminUrl, `drop database if exists ${name} with (force)`) };
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
