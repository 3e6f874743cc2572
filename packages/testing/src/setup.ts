import { prepareDatabase } from '@crs/local/stack';
import type { TestProject } from 'vitest/node';
import { createDatabase, startTestPostgres } from './postgres.ts';

/** What every test world is made with. */
export const SECRET = 'a-secret-for-tests-that-is-long-enough-0123456789';
export const OPERATOR_CREDENTIAL = 'cro_the-operator-of-the-test-world';

declare module 'vitest' {
  interface ProvidedContext {
    /** Server of this project's locale, as superuser. */
    postgresUrl: string;
    /** Database with every schema up to date, to copy. */
    template: string;
  }
}

/** For the projects that need a database: one server a project, in the locale of its name, with a template of all schemas. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const postgres = await startTestPostgres(project.name === 'icu' ? { icu: 'en-US' } : 'C');
  const template = await createDatabase(postgres.url);
  await prepareDatabase({ adminDatabaseUrl: template.url, secret: SECRET, operatorCredential: OPERATOR_CREDENTIAL });
  project.provide('postgresUrl', postgres.url);
  project.provide('template', template.name);
  return () => postgres.stop();
}
