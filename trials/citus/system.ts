/** A system on a database of a Citus cluster, with organizations to read from and the load for the trials of Citus. */
import { connect } from '@crs/crs/connection';
import { createLogger } from '@crs/kit/process/log';
import { prepareDatabase, startStack } from '@crs/local/stack';
import { createKey, createToken } from '@crs/testing/credentials';
import { load } from '@crs/testing/load';
import { toolClient, type Tools } from '@crs/testing/mcp';
import { createDatabase, joinNodes } from '@crs/testing/postgres';
import { OPERATOR_CREDENTIAL, SECRET } from '@crs/testing/setup';
import pg from 'pg';

const LIMIT = { requests: 1_000_000, period_seconds: 60 };
const LIST = '/v1/calls?start_date=2025-01-01T00:00:00Z&end_date=2026-06-01T00:00:00Z';
/** Pause between two requests of an organization. */
const PAUSE_MS = 200;
const ORGANIZATIONS = 40;
const EMAIL = 'ann@example.com';

export interface Sample {
  organization: string;
  /** `performance.now()` at the start. */
  at: number;
  ms: number;
  /** HTTP status, or the error of the tool or of the connection. */
  status: number | string;
}

/** Starts the system in this process, on a prepared database. */
export async function startOn(databaseUrl: string) {
  const stack = await startStack(
    {
      adminDatabaseUrl: databaseUrl,
      secret: SECRET,
      operatorCredential: OPERATOR_CREDENTIAL,
      apiListen: '127.0.0.1:0',
      toolsListen: '127.0.0.1:0',
      toolsUrl: 'http://tools.example',
      addressLimit: { requests: LIMIT.requests, periodSeconds: LIMIT.period_seconds },
    },
    (service) => createLogger(service, { level: 'silent' }),
  );
  const { api, tools, authAdmin: auth, projectsAdmin: projects, callsAdmin: calls, entitiesAdmin: entities } = stack.addresses;
  const operator = connect({ addresses: { auth, projects, calls, entities }, credential: OPERATOR_CREDENTIAL });
  return {
    operator,
    api,
    tools,
    stop: async () => {
      operator.close();
      await stack.stop();
    },
  };
}

/** Starts the system on its own database of the coordinator, and creates organizations with a few calls each. */
export async function startSystem(coordinator: string, callsOfEach: number) {
  const database = await createDatabase(coordinator);
  await joinNodes(coordinator, database.name);
  await prepareDatabase({ adminDatabaseUrl: database.url, secret: SECRET, operatorCredential: OPERATOR_CREDENTIAL });
  const { operator, api, tools: address, stop } = await startOn(database.url);
  const admin = new pg.Client({ connectionString: database.url });
  await admin.connect();
  const ids = Array.from({ length: ORGANIZATIONS }, (_, i) => `org-${i}`);
  const callsOf = (organization: string) =>
    Array.from({ length: callsOfEach }, (_, i) => ({
      type: 'call',
      organization,
      id: `call_${i}`,
      created_at: '2026-01-01T00:00:00Z',
    }));
  await load(
    operator,
    ids.flatMap((id) => [
      { type: 'organization', id, rate_limit: LIMIT, tool_rate_limit: LIMIT },
      { type: 'user', organization: id, email: EMAIL, name: 'Ann' },
      ...callsOf(id),
    ]),
  );
  const keys = new Map<string, string>();
  const tools = new Map<string, Tools>();
  for (const id of ids) {
    keys.set(id, await createKey(operator, id));
    tools.set(id, toolClient(address, await createToken(operator, id, EMAIL)));
  }

  const send = (organization: string, path: string) =>
    fetch(`http://${api}${path}`, { headers: { authorization: `Bearer ${keys.get(organization)}` } });
  const byRest = async (organization: string) => {
    const response = await send(organization, LIST);
    await response.text();
    return response.status;
  };
  const byTool = async (organization: string): Promise<number | string> => {
    const { status, error } = await tools.get(organization)!('list_calls', { scope: 'all' });
    return error ? `tool: ${error.code}` : status;
  };

  return {
    operator,
    /** A connection to the coordinator, as superuser. */
    admin,
    organizations: ids,
    /** Sends a REST request with the key of an organization. */
    send,
    /** Makes every organization read its list repeatedly, alternately by REST and by a tool, until the returned function is called. */
    read(onSample: (response: Sample) => void) {
      let isRunning = true;
      const readers = ids.map(async (organization, i) => {
        await pause((PAUSE_MS * i) / ids.length);
        for (let round = 0; isRunning; round++) {
          const at = performance.now();
          const read = round % 2 === 0 ? byRest : byTool;
          const status = await read(organization).catch((error: Error) => error.message);
          onSample({ organization, at, ms: performance.now() - at, status });
          await pause(PAUSE_MS);
        }
      });
      return async () => {
        isRunning = false;
        await Promise.all(readers);
      };
    },
    stop: async () => {
      await admin.end();
      await stop();
      await database.drop();
    },
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
