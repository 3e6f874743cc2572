import { createConnection } from 'node:net';
import pg from 'pg';
import { inject } from 'vitest';
import { connect, type Connection } from '@crs/crs/connection';
import { createLogger } from '@crs/kit/process/log';
import { startStack, type Stack, type StackConfig } from '@crs/local/stack';
import { loader, type TryLoad } from './load.ts';
import { createDatabase } from './postgres.ts';
import { witness } from './prism.ts';
import { restClient, type Rest } from './rest.ts';
import { OPERATOR_CREDENTIAL, SECRET } from './setup.ts';

/** Public origin of the tools in every world. */
export const TOOLS_URL = 'http://tools.example';

/** The whole system, in this process, on a database of its own. */
export interface World {
  stack: Stack;
  /** The database, as superuser: to look at rows, past every wall. */
  databaseUrl: string;
  /** What `crs` works with. */
  operator: Connection;
  rest: Rest;
  /** Lines of the log so far. */
  log: string[];
  /** Imports records as `crs import` does. @throws where a line is refused, unless they are asked for */
  load(records: object[]): Promise<void>;
  /** The refused lines as `line: field: reason`, or the counts. */
  tryLoad: TryLoad;
  createKey(organization: string, options?: { readOnly?: boolean; expiresInSeconds?: number }): Promise<string>;
  /** Runs SQL as superuser, past every wall. */
  // oxlint-disable-next-line typescript/no-explicit-any -- rows are looked into freely
  query(text: string, values?: unknown[]): Promise<{ rows: any[] }>;
  close(): Promise<void>;
}

export async function startWorld(overrides: Partial<StackConfig> = {}): Promise<World> {
  const database = await createDatabase(inject('postgresUrl'), inject('template'));
  const admin = new pg.Pool({ connectionString: database.url, max: 2 });
  // Dropping the database may be quicker than a connection's farewell, whether the pool or nobody listens to it by then.
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
      // Suites ask more than a stranger may.
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

  const tryLoad = loader(operator);
  const origin = `http://${addresses.api}`;
  const prism = process.env['CRS_TEST_REST_PROXY'] === 'prism' ? await witness(origin) : undefined;

  return {
    stack,
    databaseUrl: database.url,
    operator,
    rest: prism?.rest ?? restClient(origin),
    log,
    tryLoad,
    load: async (records) => {
      const { refused } = await tryLoad(records);
      if (refused.length > 0) throw new Error(`refused: ${refused.join('; ')}`);
    },
    createKey: async (organization, { readOnly = false, expiresInSeconds = 0 } = {}) => {
      const { secret } = await operator.auth.createKey(
        { label: '', readOnly, expiresInSeconds },
        await operator.operator(organization),
      );
      return secret;
    },
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

/** Sends bytes as they are and reads the answer to its end: for requests that no client would send. */
export async function sendRaw(address: string, bytes: string | Buffer): Promise<string> {
  const [host = '', port = ''] = address.split(':');
  const socket = createConnection(Number(port), host);
  socket.setTimeout(10_000, () => socket.destroy(new Error('no answer')));
  socket.write(bytes);
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
