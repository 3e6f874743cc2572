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

interface Server {
  url: string;
  template: string;
  stop(): Promise<void>;
}

/** The servers of this run by locale, each with the number of projects that use it. Vitest loads this file anew for each project. */
const state = globalThis as { testServers?: Map<string, { users: number; server: Promise<Server> }> };
const servers = (state.testServers ??= new Map());

/**
 * Starts a PostgreSQL server with a template of all schemas in the locale of the vitest project: ICU for `icu`, `C` for the others, which share it.
 * `CRS_TEST_DATABASE_URL` names a server to use instead, such as the coordinator of Citus.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const locale = project.name === 'icu' ? 'icu' : 'C';
  const known = servers.get(locale) ?? { users: 0, server: start(locale) };
  servers.set(locale, known);
  known.users++;
  const server = await known.server;
  project.provide('postgresUrl', server.url);
  project.provide('template', server.template);
  return async () => {
    if (--known.users === 0) await server.stop();
  };
}

async function start(locale: 'C' | 'icu'): Promise<Server> {
  const given = process.env['CRS_TEST_DATABASE_URL'];
  const postgres = given === undefined ? await startTestPostgres(locale === 'icu' ? { icu: 'en-US' } : 'C') : { url: given };
  const template = await createDatabase(postgres.url);
  await joinNodes(postgres.url, template.name);
  await prepareDatabase({ adminDatabaseUrl: template.url, secret: SECRET, operatorCredential: OPERATOR_CREDENTIAL });
  await sealTemplate(postgres.url, template.name);
  return { url: postgres.url, template: template.name, stop: () => ('stop' in postgres ? postgres.stop() : template.drop()) };
}
