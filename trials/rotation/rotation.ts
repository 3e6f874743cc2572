/** The trial of secret rotation: rotates secrets under load, and reports each failed request. */
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '@crs/crs/connection';
import { load } from '@crs/testing/load';
import '@crs/testing/names';
import { OPERATOR_CREDENTIAL } from '@crs/testing/setup';
import { Balancer } from '../faults/balancer.ts';
import { say, startLoad, type LoadOptions } from '../faults/clients.ts';
import { adminAt, type FaultySystem } from '../faults/system.ts';
import { Person } from './person.ts';
import {
  asOperator,
  CALM_MS,
  openTls,
  ORGANIZATION,
  ROTATIONS,
  type Certification,
  type Rotation,
  type Work,
} from './rotations.ts';

const PERSON = { organization: ORGANIZATION, email: 'rita@acme.example', password: 'a fine battery of horses' };

/** The load during the rotations. The browser and the assistant have their own pause, in milliseconds. */
type Pace = Pick<LoadOptions, 'clients' | 'pauseMs'> & { personPauseMs: number };

/**
 * Rotates secrets one after the other under load: requests with a key and with a token, a signed-in browser, a connected assistant, lists that continue
 * with a cursor, and an operator's commands.
 * @param certification needed for the rotation of certificates
 * @returns a sentence for each request that failed
 */
export async function rotate(
  system: FaultySystem,
  rotations: readonly Rotation[],
  { personPauseMs, ...pace }: Pace,
  certification?: Certification,
): Promise<string[]> {
  process.env['CRS_TEST_NAMES'] = system.processes.names;
  const work: Work = { system, credential: OPERATOR_CREDENTIAL, ...(certification && { certification }) };
  const failed: string[] = [];
  let requests = 0;
  const fail = (line: string) => {
    failed.push(line);
    say(`  FAILED ${line}`);
  };
  const tls = certification && (await openTls(certification));
  const loader = connect({ addresses: adminAt(system.processes, () => 'localhost'), credential: OPERATOR_CREDENTIAL, tls });
  await load(loader, [{ type: 'user', name: 'Rita', ...PERSON }, ...callsOf(PERSON.email)]);
  loader.close();
  tls?.close();
  const person = new Person(system.processes);
  await person.connect(PERSON);
  const clients = startLoad({
    balancer: new Balancer(system.processes),
    requests: system.requests,
    ...pace,
    onOutcome: ({ served, wrong, request, status }) => {
      requests++;
      if (!served || wrong !== undefined) fail(`${request}: ${status} ${wrong ?? ''}`);
    },
  });
  let stopped = false;
  const repeat = async (name: string, everyMs: number, act: () => Promise<string | undefined>) => {
    while (!stopped) {
      const wrong = await act().catch((error: Error) => error.message);
      requests++;
      if (wrong !== undefined) fail(`${name}: ${wrong}`);
      await sleep(everyMs);
    }
  };
  const people = [
    repeat('browser', personPauseMs, () => person.visit()),
    repeat('assistant', personPauseMs, () => person.work()),
    repeat('operator', 5 * personPauseMs, () => listUsers(work)),
  ];
  try {
    await sleep(CALM_MS);
    for (const rotation of rotations) {
      const before = { requests, failed: failed.length };
      await ROTATIONS[rotation](work);
      say(`${rotation.padEnd(10)} rotated: ${requests - before.requests} requests, ${failed.length - before.failed} failed`);
    }
  } finally {
    stopped = true;
    await clients.stop();
    await Promise.all(people);
    person.leave();
  }
  return failed;
}

/** Lists users in a separate `crs` command. @returns what is wrong, if anything */
async function listUsers(work: Work): Promise<string | undefined> {
  const { users } = await asOperator(work, async ({ auth, operator }) => auth.listUsers({}, await operator(ORGANIZATION)));
  return users.some(({ email }) => email === PERSON.email) ? undefined : `${users.length} users`;
}

function callsOf(email: string) {
  return Array.from({ length: 20 }, (_, n) => ({
    type: 'call',
    organization: ORGANIZATION,
    id: `rotation-${n}`,
    conducted_by: email,
    created_at: new Date(Date.UTC(2024, 2, 1, 0, n)).toISOString(),
  }));
}
