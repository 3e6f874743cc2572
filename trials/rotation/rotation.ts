import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type Connection } from '@crs/crs/connection';
import { roleOf, serviceUrl } from '@crs/kit/data/migration';
import { SigningKeyKind, SigningKeyState } from '@crs/proto/crs/auth/v1/admin';
import { createKey, createToken } from '@crs/testing/credentials';
import { load } from '@crs/testing/load';
import type { ProcessName } from '@crs/testing/processes';
import { OPERATOR_CREDENTIAL, SECRET } from '@crs/testing/setup';
import { openSession } from '@crs/testing/sql';
import { say, startLoad } from '../faults/clients.ts';
import type { FaultySystem } from '../faults/system.ts';
import { Person } from './person.ts';
import { redisCommand } from './redis-command.ts';

const ORGANIZATION = 'acme';
const PERSON = { organization: ORGANIZATION, email: 'rita@acme.example', password: 'a fine battery of horses' };
const NEW_SECRET = 'another-secret-that-is-long-enough-0123456789';
/** Names and connections settle in this time. A cluster waits likewise until a pod is ready. */
const CALM_MS = 1_200;
/** A new key is announced for ten seconds. Replicas, gateways and open requests take some more. */
const KEY_SIGNS_MS = 15_000;

/** The secrets that can be rotated, and how. */
export const ROTATIONS = { secret, tokenKey, callerKey, apiKey, operator, database, redis };
export type Rotation = keyof typeof ROTATIONS;

/** How busy the system is meanwhile. */
export interface Pace {
  /** Clients that send requests by key and by token. */
  clients: number;
  /** Mean pause of a client between two requests, in milliseconds. */
  pauseMs: number;
  /** Pause of the browser and of the assistant, in milliseconds. */
  personPauseMs: number;
}

interface Work {
  system: FaultySystem;
  operator: Connection;
}

/**
 * Rotates secrets one after the other under load: requests by key and by token, a signed-in browser, a connected assistant, and lists that go on by a
 * cursor.
 * @returns a sentence for each request that failed
 */
export async function rotate(
  system: FaultySystem,
  rotations: readonly Rotation[],
  { clients: count, pauseMs, personPauseMs }: Pace,
): Promise<string[]> {
  const failed: string[] = [];
  let requests = 0;
  const fail = (line: string) => {
    failed.push(line);
    say(`  FAILED ${line}`);
  };
  const operator = connect({ addresses: system.processes.admin, credential: OPERATOR_CREDENTIAL });
  await load(operator, [{ type: 'user', name: 'Rita', ...PERSON }, ...callsOf(PERSON.email)]);
  const person = new Person(system.processes.toolAddresses);
  await person.connect(PERSON);
  const clients = startLoad({
    processes: system.processes,
    questions: system.questions,
    clients: count,
    pauseMs,
    onOutcome: ({ served, wrong, question, status }) => {
      requests++;
      if (!served || wrong !== undefined) fail(`${question}: ${status} ${wrong ?? ''}`);
    },
  });
  let stopped = false;
  const repeat = async (name: string, act: () => Promise<string | undefined>) => {
    while (!stopped) {
      const wrong = await act().catch((error: Error) => error.message);
      requests++;
      if (wrong !== undefined) fail(`${name}: ${wrong}`);
      await sleep(personPauseMs);
    }
  };
  const people = [repeat('browser', () => person.visit()), repeat('assistant', () => person.work())];
  try {
    await sleep(CALM_MS);
    for (const rotation of rotations) {
      const before = { requests, failed: failed.length };
      await ROTATIONS[rotation]({ system, operator });
      say(`${rotation.padEnd(10)} rotated: ${requests - before.requests} requests, ${failed.length - before.failed} failed`);
    }
  } finally {
    stopped = true;
    await clients.stop();
    await Promise.all(people);
    operator.close();
  }
  return failed;
}

/** CRS_SECRET of auth and of the tool gateway: added last, moved first, all values sealed anew, the old one dropped. */
async function secret({ system, operator }: Work): Promise<void> {
  const roll = async (list: string) => {
    system.environment['CRS_SECRET'] = list;
    await restart(system, ['auth', 'tool-gateway']);
  };
  await roll(`0:${SECRET},b:${NEW_SECRET}`);
  await roll(`b:${NEW_SECRET},0:${SECRET}`);
  for (let done = false; !done;) ({ done } = await operator.auth.resealValues({}, await operator.operator()));
  const { secrets } = await operator.auth.getSecretStatus({}, await operator.operator());
  assert.deepEqual(
    secrets.filter(({ values }) => values > 0).map(({ secretId }) => secretId),
    ['b'],
  );
  await roll(`b:${NEW_SECRET}`);
}

async function tokenKey({ system, operator }: Work): Promise<void> {
  const old = await replaceKey(operator, SigningKeyKind.SIGNING_KEY_KIND_TOKEN);
  // Tokens of `crs token create` end with their key, so they are made anew first.
  system.asker.token = await createToken(operator, ORGANIZATION, 'ann@acme.example');
  await sleep(CALM_MS);
  await operator.auth.retireSigningKey({ keyId: old, force: true }, await operator.operator());
  await sleep(CALM_MS);
}

async function callerKey({ operator }: Work): Promise<void> {
  const old = await replaceKey(operator, SigningKeyKind.SIGNING_KEY_KIND_CALLER);
  await operator.auth.retireSigningKey({ keyId: old, force: true }, await operator.operator());
  await sleep(2 * CALM_MS);
}

/** @returns the key that signed before */
async function replaceKey({ auth, operator }: Connection, kind: SigningKeyKind): Promise<string> {
  const { keys } = await auth.listSigningKeys({}, await operator());
  const old = keys.find((key) => key.kind === kind && key.state === SigningKeyState.SIGNING_KEY_STATE_SIGNING)!;
  await auth.rotateSigningKey({ kind }, await operator());
  await sleep(KEY_SIGNS_MS);
  return old.keyId;
}

async function apiKey({ system, operator }: Work): Promise<void> {
  const { auth } = operator;
  const { apiKeys } = await auth.listKeys({}, await operator.operator(ORGANIZATION));
  system.asker.key = await createKey(operator, ORGANIZATION);
  await sleep(CALM_MS);
  for (const { keyId } of apiKeys) await auth.revokeKey({ keyId }, await operator.operator(ORGANIZATION));
  await sleep(CALM_MS);
}

/** The operator's credential is replaced by another one, which then is at work. */
async function operator({ system, operator: first }: Work): Promise<void> {
  const name = `rotated-${Date.now()}`;
  const { credential } = await first.auth.createOperator(
    { name, role: 'admin', organizationIds: [], expiresInSeconds: 0 },
    await first.operator(),
  );
  const second = connect({ addresses: system.processes.admin, credential });
  await second.auth.listOrganizations({}, await second.operator());
  second.close();
  await first.auth.revokeOperator({ name }, await first.operator());
}

/** Each service's login takes turns with a second one. */
async function database({ system }: Work): Promise<void> {
  const session = await openSession(system.databaseUrl);
  try {
    for (const service of ['calls', 'projects', 'entities', 'auth'] as const) {
      const role = roleOf(service);
      await session.query(`create role ${role}_b login nosuperuser nobypassrls password 'a-new-password' in role ${role}`);
      const url = new URL(serviceUrl(system.databaseUrl, service, 'a-new-password'));
      url.username = `${role}_b`;
      system.environment['DATABASE_URL'] = url.href;
      await restart(system, [service]);
      delete system.environment['DATABASE_URL'];
      await session.query(`alter role ${role} nologin`);
      const rows = await session.query(`select count(*)::int as count from pg_stat_activity where usename = '${role}'`);
      assert.deepEqual(rows, [{ count: 0 }]);
    }
  } finally {
    await session.close();
  }
}

/** Redis has two passwords for a while. */
async function redis({ system }: Work): Promise<void> {
  if (!system.redis) return say('NOT RUN: the password of Redis, because there is no redis-server on the PATH');
  const url = new URL(system.redis.url);
  const use = async (password: string) => {
    url.password = password;
    system.environment['REDIS_URL'] = url.href;
    await restart(system, ['rate-limit']);
  };
  await redisCommand(url, 'ACL SETUSER default resetpass >old');
  await use('old');
  // From here on, it is the runbook.
  await redisCommand(url, 'AUTH old', 'ACL SETUSER default >new');
  await use('new');
  await redisCommand(url, 'AUTH new', 'ACL SETUSER default <old', 'CLIENT KILL TYPE normal');
  await sleep(CALM_MS);
  const clients = await redisCommand(url, 'AUTH new', 'CLIENT LIST');
  assert.ok(clients.split('addr=').length > 2, 'rate-limit is connected again');
}

/** Restarts the replicas of these services in turn, as a rolling update does. */
async function restart({ processes }: FaultySystem, services: ProcessName[]): Promise<void> {
  for (const replica of [1, 2]) {
    await Promise.all(
      services.map(async (service) => {
        assert.equal(await processes.terminate(service, replica), 0);
        await processes.start(service, replica);
      }),
    );
    await sleep(CALM_MS);
  }
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
