/** Global set-up of the tests: the PostgreSQL server and the template database that they share. */
import { readdir, rm, stat, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepareDatabase, webhooksCredential } from '@crs/local/stack';
import type { TestProject } from 'vitest/node';
import { createDatabase, joinNodes, refuseConnections, startTestPostgres, TEST_DATA, type TestDatabase } from './postgres.ts';

// Every test system has this secret and this operator.
export const SECRET = 'a-secret-for-tests-that-is-long-enough-0123456789';
export const OPERATOR_CREDENTIAL = 'cro_the-operator-of-the-test-world';
/** By which the program webhooks gets its tokens. */
export const WEBHOOKS_CREDENTIAL = webhooksCredential(SECRET);

const MEMORY = '/dev/shm';
/** A run of all tests uses a tenth of it. */
const MIN_FREE_BYTES = 4 * 1024 ** 3;
const DAY_MS = 86_400_000;

declare module 'vitest' {
  interface ProvidedContext {
    /** URL of this run's PostgreSQL server, as superuser. */
    postgresUrl: string;
    /** Name of the template database, which has every schema. */
    template: string;
  }
}

/**
 * Starts a PostgreSQL server with an English collation and a template of all schemas.
 * `CRS_TEST_DATABASE_URL` names a server to use instead, such as the coordinator of Citus.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env['CRS_TEST_DATABASE_URL'];
  const postgres = given === undefined ? await startTestPostgres(undefined, await dataFolder()) : { url: given };
  const template = await createTemplate(postgres.url);
  project.provide('postgresUrl', postgres.url);
  project.provide('template', template.name);
  return () => ('stop' in postgres ? postgres.stop() : template.drop());
}

/** Creates a template database with every schema and the operator of all test systems. It refuses connections, so that it can be copied. */
export async function createTemplate(postgresUrl: string): Promise<TestDatabase> {
  const template = await createDatabase(postgresUrl);
  await joinNodes(postgresUrl, template.name);
  await prepareDatabase({ adminDatabaseUrl: template.url, secret: SECRET, operatorCredential: OPERATOR_CREDENTIAL });
  await refuseConnections(postgresUrl, template.name);
  return template;
}

/**
 * Returns Linux's folder in memory if it has enough free space, otherwise the usual folder of temporary files. A run of all tests creates and drops
 * dozens of databases of a thousand files each, which takes a tenth of its time on a disk.
 */
async function dataFolder(): Promise<string> {
  const { bavail, bsize } = await statfs(MEMORY).catch(() => ({ bavail: 0, bsize: 0 }));
  if (bavail * bsize < MIN_FREE_BYTES) return tmpdir();
  const names = await readdir(MEMORY);
  // Runs that were killed leave their data, which would occupy memory until the next restart.
  await Promise.all(names.filter((name) => name.startsWith(TEST_DATA)).map((name) => removeIfOld(join(MEMORY, name))));
  return MEMORY;
}

async function removeIfOld(path: string): Promise<void> {
  try {
    if ((await stat(path)).mtimeMs < Date.now() - DAY_MS) await rm(path, { recursive: true });
  } catch {
    // It belongs to another user, or another run has just deleted it.
  }
}
