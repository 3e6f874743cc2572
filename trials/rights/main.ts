import { connect, type Connection } from '@crs/crs/connection';
import { createKey, createToken } from '@crs/testing/credentials';
import { load } from '@crs/testing/load';
import { PROCESS_NAMES } from '@crs/testing/processes';
import { OPERATOR_CREDENTIAL } from '@crs/testing/setup';
import { everyRoute, everyTool, isServed, type Request } from '@crs/testing/surface';
import { readArguments } from '../arguments.ts';
import { say } from '../faults/clients.ts';
import { startFaultySystem, type FaultySystem } from '../faults/system.ts';
import { AdminCalls, type Shown } from './admin-calls.ts';
import { watch, type Line, type Stream } from './watch.ts';

const USAGE = `usage: node trials/rights/main.ts

Starts two replicas of each service and of both gateways, and revokes an operator, an API key and a user, each under requests that don't pause: every
RPC of every admin listener, every route and every tool. Runs on Linux.

Prints for each request when the last one was sent that was still admitted, in milliseconds from the acknowledgement of the revocation. Exits with 1
where one that was sent more than a second after it was admitted.
`;

const ORGANIZATION = 'acme';
const LEAVER = 'uma@acme.example';
const REPLICAS = ['127.0.0.1', '127.0.0.2'];

readArguments(USAGE, { options: {} });
const replicas = Object.fromEntries(PROCESS_NAMES.map((name) => [name, 2]));
const system = await startFaultySystem({ replicas, relays: false });
const admin = connect({ addresses: system.processes.admin, credential: OPERATOR_CREDENTIAL });
await load(admin, [
  { type: 'user', organization: ORGANIZATION, email: LEAVER, name: 'Uma' },
  {
    type: 'project',
    organization: ORGANIZATION,
    id: system.asker.projectId,
    name: 'Bikes',
    members: [{ email: LEAVER }],
  },
]);

const values = {
  call_id: system.asker.callId,
  project_id: system.asker.projectId,
  start_date: '2025-01-01T00:00:00Z',
  end_date: '2025-12-31T00:00:00Z',
  name: 'Made while rights end',
  lead_email: system.asker.leadEmail,
};
const trials = { operator, key, user };
let late = 0;
try {
  for (const [name, trial] of Object.entries(trials)) {
    say(`\n${name.padEnd(48)} requests   last admitted, ms   sent after 1 s   admitted of these`);
    for (const line of await trial(admin, system)) {
      say(row(line));
      late += line.lateAdmitted;
    }
  }
} finally {
  admin.close();
  await system.stop();
}
say(`\n${late} requests were admitted that were sent more than a second after the acknowledgement`);
process.exitCode = late === 0 ? 0 : 1;

function row({ name, requests, lastAdmitted, late: after, lateAdmitted }: Line): string {
  const cells = [requests, Math.round(lastAdmitted), after, lateAdmitted].map((cell, index) =>
    String(cell).padStart([9, 20, 17, 20][index]!),
  );
  return name.padEnd(48) + cells.join('');
}

async function operator({ auth, operator: token }: Connection, { processes }: FaultySystem): Promise<Line[]> {
  const rights = { role: 'admin', organizationIds: [], expiresInSeconds: 0 };
  const { credential } = await auth.createOperator({ name: 'leaver', ...rights }, await token());
  const shown = async (by: string): Promise<Shown> => {
    const issue = async (organizationId: string) =>
      (await auth.issueOperatorToken({ credential: by, organizationId })).operatorToken;
    return { credential: by, tokens: [await issue(ORGANIZATION), await issue('')] };
  };
  const listeners = Object.entries(processes.admin).flatMap(([service, address]) =>
    REPLICAS.map((host): [string, string] => [service, address.replace(/^[^:]+/, host)]),
  );
  const calls = await AdminCalls.find(listeners, await shown(OPERATOR_CREDENTIAL));
  try {
    return await watch(calls.streams(await shown(credential)), async () =>
      auth.revokeOperator({ name: 'leaver' }, await token()),
    );
  } finally {
    calls.close();
  }
}

async function key(connection: Connection, { processes }: FaultySystem): Promise<Line[]> {
  const { auth, operator: token } = connection;
  const before = new Set((await auth.listKeys({}, await token(ORGANIZATION))).apiKeys.map(({ keyId }) => keyId));
  const secret = await createKey(connection, ORGANIZATION);
  const { apiKeys } = await auth.listKeys({}, await token(ORGANIZATION));
  const { keyId } = apiKeys.find((each) => !before.has(each.keyId))!;
  const addresses = processes.apis.map((origin) => new URL(origin).host);
  const routes = await everyRoute(addresses[0]!, values);
  return watch(requestsAt(addresses, routes, secret), async () => auth.revokeKey({ keyId }, await token(ORGANIZATION)));
}

async function user(connection: Connection, { processes }: FaultySystem): Promise<Line[]> {
  const { auth, operator: token } = connection;
  const [address] = processes.toolAddresses;
  const accessToken = await createToken(connection, ORGANIZATION, LEAVER);
  const streams = requestsAt(processes.toolAddresses, await everyTool(address!, accessToken, values), accessToken);
  return watch(streams, async () => auth.setUserDisabled({ email: LEAVER, disabled: true }, await token(ORGANIZATION)));
}

/** Each request at each replica of a gateway. */
function requestsAt(addresses: string[], requests: Request[], credential: string): Stream[] {
  return requests.flatMap(({ name, send }) =>
    addresses.map((address, index) => ({
      name: `${name}, replica ${index + 1}`,
      ask: async () => {
        const answer = await send(address, credential);
        if (![200, 201, 401].includes(answer.status)) throw new Error(`${name}: ${answer.status} ${answer.body}`);
        return isServed(answer);
      },
    })),
  );
}
