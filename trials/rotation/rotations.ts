/** How each secret is rotated, step by step as in the runbooks. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { connect, type Connection } from '@crs/crs/connection';
import { roleOf, serviceUrl } from '@crs/kit/data/migration';
import { createLogger } from '@crs/kit/process/log';
import { Tls } from '@crs/kit/process/tls';
import { SigningKeyKind, SigningKeyState } from '@crs/proto/crs/auth/v1/admin';
import { createAuthority, type Authority } from '@crs/testing/certificate';
import { createKey, createToken } from '@crs/testing/credentials';
import { toolClient } from '@crs/testing/mcp';
import { PROCESS_NAMES, type ProcessName } from '@crs/testing/processes';
import type { ProgramCertificates } from '@crs/testing/program-certificates';
import { SECRET } from '@crs/testing/setup';
import { openSession } from '@crs/testing/sql';
import { say } from '../faults/clients.ts';
import { adminAt, type FaultySystem } from '../faults/system.ts';
import { redisCommand } from './redis-command.ts';

export const ORGANIZATION = 'acme';
const NEW_SECRET = 'another-secret-that-is-long-enough-0123456789';
/** Pause in which clients resolve names again and reconnect. A cluster waits similarly, until the new pod is ready. */
export const CALM_MS = 1_200;
/** A new key is published for ten seconds before it signs. Replicas, gateways and requests in flight need some more time. */
const KEY_SIGNS_MS = 15_000;
/** Processes read their certificates every five seconds. */
const CERTIFICATES_READ_MS = 6_000;

/** The certificates of a system with TLS, and their CA. */
export interface Certification {
  certificates: ProgramCertificates;
  authority: Authority;
}

/** A running system and the credential of its operator. */
export interface Work {
  system: FaultySystem;
  credential: string;
  /** Absent: the system has no TLS. */
  certification?: Certification;
}

/** The secrets that can be rotated, and how. */
export const ROTATIONS = { secret, tokenKey, callerKey, apiKey, operator, database, redis, tls };
export type Rotation = keyof typeof ROTATIONS;

/** Calls auth like one run of `crs`: with its own certificate, connection and token. */
export async function asOperator<T>(work: Work, act: (connection: Connection) => Promise<T>): Promise<T> {
  const { system, credential, certification } = work;
  const addresses = adminAt(system.processes, (service) => `${service}.crs.test`);
  const tls = certification && (await openTls(certification));
  const connection = connect({ addresses, credential, tls });
  try {
    return await act(connection);
  } finally {
    connection.close();
    tls?.close();
  }
}

/** Returns the current certificate of `crs`. */
export const openTls = ({ certificates }: Pick<Certification, 'certificates'>) =>
  Tls.open(certificates.directoryOf('crs'), createLogger('crs', { level: 'silent' }));

/** Rotates CRS_SECRET of auth and of the tool gateway: appends the new secret, moves it first, encrypts all values again, and removes the old one. */
async function secret(work: Work): Promise<void> {
  const { system } = work;
  const setSecret = async (list: string) => {
    system.environment['CRS_SECRET'] = list;
    await restart(system, ['auth', 'tool-gateway']);
  };
  await setSecret(`0:${SECRET},b:${NEW_SECRET}`);
  await setSecret(`b:${NEW_SECRET},0:${SECRET}`);
  const { secrets } = await asOperator(work, async ({ auth, operator: token }) => {
    for (let done = false; !done;) ({ done } = await auth.resealValues({}, await token()));
    return auth.getSecretStatus({}, await token());
  });
  assert.deepEqual(
    secrets.filter(({ values }) => values > 0).map(({ secretId }) => secretId),
    ['b'],
  );
  await setSecret(`b:${NEW_SECRET}`);
}

async function tokenKey(work: Work): Promise<void> {
  const { requestData, processes } = work.system;
  const old = await replaceKey(work, SigningKeyKind.SIGNING_KEY_KIND_TOKEN);
  // Tokens of `crs token create` end with their key, so they are replaced first.
  const before = requestData.token;
  requestData.token = await asOperator(work, (connection) => createToken(connection, ORGANIZATION, 'ann@acme.example'));
  await sleep(CALM_MS);
  await retire(work, old);
  await sleep(CALM_MS);
  assert.equal((await toolClient(processes.tools, before)('list_projects')).status, 401, 'the earlier token has ended');
}

async function callerKey(work: Work): Promise<void> {
  await retire(work, await replaceKey(work, SigningKeyKind.SIGNING_KEY_KIND_CALLER));
  await sleep(2 * CALM_MS);
}

/** @returns the id of the previous signing key */
async function replaceKey(work: Work, kind: SigningKeyKind): Promise<string> {
  const old = await asOperator(work, async ({ auth, operator: token }) => {
    const { keys } = await auth.listSigningKeys({}, await token());
    await auth.rotateSigningKey({ kind }, await token());
    return keys.find((key) => key.kind === kind && key.state === SigningKeyState.SIGNING_KEY_STATE_SIGNING)!;
  });
  await sleep(KEY_SIGNS_MS);
  return old.keyId;
}

const retire = (work: Work, keyId: string) =>
  asOperator(work, async ({ auth, operator: token }) => auth.retireSigningKey({ keyId, force: true }, await token()));

async function apiKey(work: Work): Promise<void> {
  const { requestData, processes } = work.system;
  const before = requestData.key;
  const { apiKeys } = await asOperator(work, async ({ auth, operator: token }) => auth.listKeys({}, await token(ORGANIZATION)));
  requestData.key = await asOperator(work, (connection) => createKey(connection, ORGANIZATION));
  await sleep(CALM_MS);
  await asOperator(work, async ({ auth, operator: token }) => {
    for (const { keyId } of apiKeys) await auth.revokeKey({ keyId }, await token(ORGANIZATION));
  });
  await sleep(CALM_MS);
  const { status } = await fetch(`${processes.api}/v1/billing-offices`, { headers: { authorization: `Bearer ${before}` } });
  assert.equal(status, 401, 'the earlier key has ended');
}

/** Creates a second operator, which replaces the first one and then revokes it. */
async function operator(work: Work): Promise<void> {
  const before = work.credential;
  const rights = { role: 'admin', organizationIds: [], expiresInSeconds: 0 };
  const { operators, credential } = await asOperator(work, async ({ auth, operator: token }) => ({
    ...(await auth.listOperators({}, await token())),
    ...(await auth.createOperator({ name: `rotated-${Date.now()}`, ...rights }, await token())),
  }));
  work.credential = credential;
  await sleep(CALM_MS);
  await asOperator(work, async ({ auth, operator: token }) => {
    for (const { name, revokedAt } of operators) if (!revokedAt) await auth.revokeOperator({ name }, await token());
  });
  const attempt = asOperator({ ...work, credential: before }, async ({ operator: token }) => token());
  await assert.rejects(attempt, { kind: 'unauthenticated' });
}

/** Alternates each service's login role with a second one. */
async function database({ system }: Work): Promise<void> {
  const session = await openSession(system.databaseUrl);
  try {
    for (const service of ['calls', 'projects', 'entities', 'auth'] as const) {
      const role = roleOf(service);
      await session.query(`create role ${role}_b login nosuperuser nobypassrls password 'a-new-password' in role ${role}`);
      const url = new URL(serviceUrl(system.databaseUrl, service, 'a-new-password'));
      url.username = `${role}_b`;
      system.environments[service] = { ...system.environments[service], DATABASE_URL: url.href };
      await restart(system, [service]);
      await session.query(`alter role ${role} nologin`);
      const rows = await session.query(
        `select usename, count(*)::int from pg_stat_activity where usename ~ '^${role}' group by 1`,
      );
      assert.deepEqual(
        rows.map(({ usename }) => usename),
        [`${role}_b`],
        'only the second login is connected',
      );
    }
  } finally {
    await session.close();
  }
}

/** Rotates the password of Redis, which has two passwords for a while. */
async function redis({ system }: Work): Promise<void> {
  if (!system.redis) return say('NOT RUN: the password of Redis, because redis-server is not on the PATH');
  const url = new URL(system.redis.url);
  const use = async (password: string) => {
    url.password = password;
    system.environments['rate-limit'] = { ...system.environments['rate-limit'], REDIS_URL: url.href };
    await restart(system, ['rate-limit']);
  };
  await redisCommand(url, 'ACL SETUSER default resetpass >old');
  await use('old');
  // The following steps are those of the runbook.
  await redisCommand(url, 'AUTH old', 'ACL SETUSER default >new');
  await use('new');
  await redisCommand(url, 'AUTH new', 'ACL SETUSER default <old', 'CLIENT KILL TYPE normal');
  await sleep(CALM_MS);
  await assert.rejects(redisCommand(url, 'AUTH old'), /WRONGPASS/);
  const clients = await redisCommand(url, 'AUTH new', 'CLIENT LIST');
  assert.ok(clients.split('addr=').length > 2, 'rate-limit is connected again');
}

/** Replaces the CA and all certificates. Both CAs are trusted for a while. Restarts make each process reconnect at each step. */
async function tls({ system, certification }: Work): Promise<void> {
  assert.ok(certification, 'the system has TLS');
  const { certificates, authority } = certification;
  const next = createAuthority(`next ${Date.now()}`);
  const settle = async () => {
    await sleep(CERTIFICATES_READ_MS);
    await restart(system, PROCESS_NAMES);
  };
  certificates.trust(authority, next);
  await settle();
  certificates.issue(next);
  await settle();
  certificates.trust(next);
  await settle();
  certification.authority = next;
  for (const [service, address] of Object.entries(adminAt(system.processes, () => 'localhost'))) {
    assert.equal(await authorizationOf(address, service, next), 'authorized', `${service} presents its new certificate`);
  }
}

/** Whether a listener's certificate was issued by the CA. Even a client without a certificate gets it. */
function authorizationOf(address: string, service: string, { cert }: Authority): Promise<string> {
  const [host, port] = address.split(':');
  const options = { host, port: Number(port), servername: service, ca: cert, rejectUnauthorized: false, ALPNProtocols: ['h2'] };
  return new Promise((resolve, reject) => {
    const socket = connectTls(options, () => {
      resolve(socket.authorized ? 'authorized' : String(socket.authorizationError));
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

/** Restarts the replicas of these services one after the other, like a rolling update. */
async function restart({ processes }: FaultySystem, services: readonly ProcessName[]): Promise<void> {
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
