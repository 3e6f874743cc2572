import { prepareDatabase } from '@crs/local/stack';
import type { TestProject } from 'vitest/node';
import { createDatabase, joinNodes, sealTemplate, startTestPostgres } from './postgres.ts';

// Every test world has this secret and this operator.
export const SECRET = 'a-secret-for-tests-that-is-long-enough-0123456789';
export const OPERATOR_CREDENTIAL = 'cro_the-operator-of-the-test-world';

declare module 'vitest' {
  interface ProvidedContext {
    /** The PostgreSQL server of this vitest project, as superuser. */
    postgresUrl: string;
    /** Name of a database with every schema up to date, to be copied. */
    template: string;
  }
}

/**
 * Starts a PostgreSQL server for each vitest project that needs one, in the locale of the project's name, with a template of all schemas.
 * `CRS_TEST_DATABASE_URL` names a server to use instead, such as the coordinator of Citus.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env['CRS_TEST_DATABASE_URL'];
  const postgres = given
    ? { url: given, stop: () => template.drop() }
    : await startTestPostgres(project.name === 'icu' ? { icu: 'en-US' } : 'C');
  const template = await createDatabase(postgres.url);
  await joinNodes(postgres.url, template.name);
  await prepareDatabase({ adminDatabaseUrl: template.url, secret: SECRET, operatorCredential: OPERATOR_CREDENTIAL });
  await sealTemplate(postgres.url, template.name);
  project.provide('postgresUrl', postgres.url);
  project.provide('template', template.name);
  return () => postgres.stop();
}
