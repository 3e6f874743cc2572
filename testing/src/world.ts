/** The whole system in the process of a test. */
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import { connect, type Connection } from '@crs/crs/connection';
import { createLogger } from '@crs/kit/process/log';
import { startStack, type Stack, type StackConfig } from '@crs/local/stack';
import { createKey } from './credentials.ts';
import { fitsCitus } from './fits-citus.ts';
import { interceptStatements } from './intercept-statements.ts';
import { load, loader, type TryLoad } from './load.ts';
import { createDatabase } from './postgres.ts';
import { recordExchanges } from './record-exchanges.ts';
import { restClient, type Rest } from './rest.ts';
import { OPERATOR_CREDENTIAL, SECRET } from './setup.ts';

// For the life of the process: checks that Citus accepts each statement that a service sends in any test.
interceptStatements(fitsCitus);

/** Public origin of the tool gateway in every test system. */
export const TOOLS_URL = 'http://tools.example';

/** The whole system, in this process. */
export interface World {
  stack: Stack;
  /** A connection to the database as superuser, who bypasses row-level security. */
  databaseUrl: string;
  /** The operator's connection to the admin listeners. */
  operator: Connection;
  rest: Rest;
  /** Lines of the log so far. */
  log: string[];
  /** Imports records as `crs import` does. @throws Error if a line is refused */
  load(records: object[]): Promise<void>;
  tryLoad: TryLoad;
  createKey(
    organization: string,
    options?: { rights?: string[]; networks?: string[]; expiresInSeconds?: number },
  ): Promise<string>;
  /** Runs SQL as superuser, who bypasses row-level security. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests access any property
  query(text: string, values?: unknown[]): Promise<{ rows: any[] }>;
}

/** A system that one test file started, on a database of its own. */
export interface OwnWorld extends World {
  close(): Promise<void>;
}

let shared: Promise<World> | undefined;

/**
 * Returns the system that all test files of this worker share, and that ends with the worker. Each file uses its own organizations, created by
 * `tenant()`. A file that stops a service, holds a lock, counts what all organizations do, or needs other settings must start its own system.
 */
export function sharedWorld(): Promise<World> {
  return (shared ??= startWorld());
}

/** Returns an organization id that no other test file uses. */
export const tenant = (name: string): string => `${name}-${randomBytes(4).toString('hex')}`;

/**
 * Starts a system of its own.
 * @param server a PostgreSQL server with a template of all schemas; that of the test run by default
 */
export async function startWorld(
  overrides: Partial<StackConfig> = {},
  server = { url: inject('postgresUrl'), template: inject('template') },
): Promise<OwnWorld> {
  const database = await createDatabase(server.url, server.template);
  const admin = new pg.Pool({ connectionString: database.url, max: 2 });
  // The database may be dropped before a connection has been closed. Without a listener, the connection's error would end the process.
  admin.on('error', () => {});
  admin.on('connect', (connection) => void connection.on('error', () => {}));
  const log: string[] = [];
  const { stack, operator, stop } = await startServices(database.url, log, overrides);

  return {
    stack,
    databaseUrl: database.url,
    operator,
    rest: recordExchanges(restClient(`http://${stack.addresses.api}`)),
    log,
    tryLoad: loader(operator),
    load: (records) => load(operator, records),
    createKey: (organization, options) => createKey(operator, organization, options),
    query: (text, values) => admin.query(text, values),
    close: async () => {
      await admin.end();
      await stop();
      await database.drop();
    },
  };
}

/** Starts all services in this process, on a database with every schema. @param log receives the lines of their logs */
export async function startServices(databaseUrl: string, log: string[], overrides: Partial<StackConfig> = {}) {
  const destination = { write: (line: string) => void log.push(line) };
  const stack = await startStack(
    {
      adminDatabaseUrl: databaseUrl,
      secret: SECRET,
      operatorCredential: OPERATOR_CREDENTIAL,
      apiListen: '127.0.0.1:0',
      toolsListen: '127.0.0.1:0',
      toolsUrl: TOOLS_URL,
      // Tests send more requests than the default limit of an address allows.
      addressLimit: { requests: 1_000_000, periodSeconds: 60 },
      ...overrides,
    },
    (service) => createLogger(service, { level: 'debug', destination }),
  );
  const { authAdmin, projectsAdmin, callsAdmin, entitiesAdmin, webhooksAdmin } = stack.addresses;
  const operator = connect({
    addresses: { auth: authAdmin, projects: projectsAdmin, calls: callsAdmin, entities: entitiesAdmin, webhooks: webhooksAdmin },
    credential: OPERATOR_CREDENTIAL,
  });
  const stop = async () => {
    operator.close();
    await stack.stop();
  };
  return { stack, operator, stop };
}
