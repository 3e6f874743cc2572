import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@crs/kit/process/log';
import { startPostgres } from '@crs/local/postgres';
import type { Locale } from '@crs/local/postgres-cluster';
import pg from 'pg';

export interface TestPostgres {
  /** A database of the server, as superuser; for `createDatabase`, or for use as it is. */
  url: string;
  /** Stops the server and deletes its data. */
  stop(): Promise<void>;
}

export interface TestDatabase {
  /** As superuser. */
  url: string;
  name: string;
  /** Deletes it, connections or not. */
  drop(): Promise<void>;
}

/** Starts a real PostgreSQL on an empty temporary directory: quick, and not durable. */
export async function startTestPostgres(locale: Locale = 'C'): Promise<TestPostgres> {
  const dataDir = await mkdtemp(join(tmpdir(), 'crs-test-'));
  // For root, PostgreSQL runs as another user, who must come through.
  await chmod(dataDir, 0o711);
  try {
    const log = createLogger('postgres', { level: 'error' });
    const postgres = await startPostgres({ dataDir, locale, fsync: false, log });
    return {
      url: postgres.url,
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
 * Creates a database of a random name, for one test file say.
 * @param adminUrl any database of the server, as superuser
 * @param template name of the database to copy, which nobody may be connected to meanwhile; absent: an empty one
 */
export async function createDatabase(adminUrl: string, template = 'template1'): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  // Copying files beats the default, copying through the log, as long as nothing is flushed to disk: 17 ms against 50.
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
