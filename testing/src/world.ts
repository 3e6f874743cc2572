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
import { witness } from './prism.ts';
import { restClient, type Rest } from './rest.ts';
import { OPERATOR_CREDENTIAL, SECRET } from './setup.ts';

// For as long as the process runs: each statement that any test makes a service send is one that Citus takes.
interceptStatements(fitsCitus);

/** Public origin of the tool gateway in every world. */
export const TOOLS_URL = 'http://tools.example';

/** The whole system, in this process, on a database of its own. */
export interface World {
  stack: Stack;
  /** The database, as superuser, whom row-level security doesn't bind. */
  databaseUrl: string;
  /** The operator's connection to the admin listeners. */
  operator: Connection;
  rest: Rest;
  /** Lines of the log so far. */
  log: string[];
  /** Imports records as `crs import` does. @throws Error where a line is refused */
  load(records: object[]): Promise<void>;
  tryLoad: TryLoad;
  createKey(organization: string, options?: { readOnly?: boolean; expiresInSeconds?: number }): Promise<string>;
  /** Runs SQL as superuser, whom row-level security doesn't bind. */
  // oxlint-disable-next-line typescript/no-explicit-any -- rows are looked into freely
  query(text: string, values?: unknown[]): Promise<{ rows: any[] }>;
  close(): Promise<void>;
}

export async function startWorld(overrides: Partial<StackConfig> = {}): Promise<World> {
  const database = await createDatabase(inject('postgresUrl'), inject('template'));
  const admin = new pg.Pool({ connectionString: database.url, max: 2 });
  // The database may be dropped before a connection has said goodbye. Without listeners, the connection's error would end the process.
  admin.on('error', () => {});
  admin.on('connect', (connection) => void connection.on('error', () => {}));
  const log: string[] = [];
  const destination = { write: (line: string) => void log.push(line) };
  const stack = await startStack(
    {
      adminDatabaseUrl: database.url,
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
  const { addresses } = stack;
  const operator = connect({
    addresses: {
      auth: addresses.authAdmin,
      projects: addresses.projectsAdmin,
      calls: addresses.callsAdmin,
      entities: addresses.entitiesAdmin,
    },
    credential: OPERATOR_CREDENTIAL,
  });

  const origin = `http://${addresses.api}`;
  const prism = process.env['CRS_TEST_REST_PROXY'] === 'prism' ? await witness(origin) : undefined;

  return {
    stack,
    databaseUrl: database.url,
    operator,
    rest: prism?.rest ?? restClient(origin),
    log,
    tryLoad: loader(operator),
    load: (records) => load(operator, records),
    createKey: (organization, options) => createKey(operator, organization, options),
    query: (text, values) => admin.query(text, values),
    close: async () => {
      await admin.end();
      operator.close();
      await stack.stop();
      await database.drop();
      await prism?.stop();
    },
  };
}
