/** Global set-up of the tests: the PostgreSQL server and the template database that they share. */
import { prepareDatabase, webhooksCredential } from '@crs/local/stack';
import type { TestProject } from 'vitest/node';
import { createDatabase, joinNodes, refuseConnections, startTestPostgres, type TestDatabase } from './postgres.ts';

// Every test system has this secret and this operator.
export const SECRET = 'a-secret-for-tests-that-is-long-enough-0123456789';
export const OPERATOR_CREDENTIAL = 'cro_the-operator-of-the-test-world';
/** By which the program webhooks gets its tokens. */
export const WEBHOOKS_CREDENTIAL = webhooksCredential(SECRET);

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
  const postgres = given === undefined ? await startTestPostgres() : { url: given };
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
