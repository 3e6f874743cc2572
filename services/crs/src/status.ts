import { ServiceError, unavailable } from '@crs/kit/errors';
import type { Tls } from '@crs/kit/process/tls';
import { client } from '@crs/kit/rpc/client';
import { service as definition } from 'grpc-health-check';
import { SERVICES, UNMANAGED, type Service, type Unmanaged } from './config.ts';
import type { Connection } from './connection.ts';

const TIMEOUT_MS = 5_000;

export interface Health {
  service: string;
  address: string | null;
  /** Null: not known, or not used. */
  up: boolean | null;
  /** Time of an answer over an open connection; null without an answer. */
  latency_ms: number | null;
  problem: string | null;
}

/** Asks each service, PostgreSQL and Redis whether it answers. */
export function askAll(connection: Connection): Promise<Health[]> {
  const { health = {} } = connection.config;
  return Promise.all([
    ...SERVICES.map((name) => askManaged(connection, name)),
    ...UNMANAGED.map((name) => askUnmanaged(name, health[name])),
    askAboutPostgres(connection),
    askAboutRedis(health['rate-limit']),
  ]);
}

function askManaged(connection: Connection, name: Service): Promise<Health> {
  const asked = adminOf(connection, name);
  // The question to auth uses the operator's credential, so it finds a bad credential, too. The others need no token, so they work while
  // auth is away.
  return measure(asked, () => (name === 'auth' ? askAuth(connection) : checkHealth(asked)));
}

async function askUnmanaged(name: Unmanaged, address: string | undefined): Promise<Health> {
  if (address === undefined) {
    return unknown(name, null, `CRS_${name.toUpperCase().replace('-', '_')}_HEALTH_ADDRESS is not set.`);
  }
  // Health listeners are in plaintext.
  return measure({ name, address }, () => checkHealth({ name, address }));
}

/** PostgreSQL, as the services see it. */
async function askAboutPostgres(connection: Connection): Promise<Health> {
  const answers = await Promise.all(
    SERVICES.map(async (name) => ({
      name,
      works: await checkDependency(adminOf(connection, name), 'postgresql').catch(() => undefined),
    })),
  );
  const without = answers.flatMap(({ name, works }) => (works === false ? [name] : []));
  const told = answers.some(({ works }) => works !== undefined);
  if (!told) return unknown('postgresql', null, 'No service tells.');
  const problem = without.length > 0 ? `It doesn't answer ${without.join(', ')}.` : null;
  return { service: 'postgresql', address: null, up: problem === null, latency_ms: null, problem };
}

/** Redis, as rate-limit sees it. */
async function askAboutRedis(address: string | undefined): Promise<Health> {
  const works = address === undefined ? null : await checkDependency({ name: 'rate-limit', address }, 'redis').catch(() => null);
  if (works === null) return unknown('redis', null, 'The rate-limit service does not tell.');
  if (works === undefined) return unknown('redis', null, 'Not used: requests are counted in memory.');
  const problem = works ? null : 'The rate-limit service has no connection.';
  return { service: 'redis', address: null, up: works, latency_ms: null, problem };
}

function adminOf({ config: { addresses, tls } }: Connection, name: Service): Asked {
  return { name, address: addresses[name], tls };
}

function unknown(service: string, address: string | null, problem: string): Health {
  return { service, address, up: null, latency_ms: null, problem };
}

async function askAuth({ auth, operator }: Connection): Promise<void> {
  await auth.listOrganizations({}, await operator());
}

async function measure({ name: service, address }: Asked, ask: () => Promise<void>): Promise<Health> {
  try {
    // The first request connects.
    await ask();
    const started = performance.now();
    await ask();
    const latency = Math.round((performance.now() - started) * 10) / 10;
    return { service, address, up: true, latency_ms: latency, problem: null };
  } catch (error) {
    return { service, address, up: false, latency_ms: null, problem: (error as Error).message };
  }
}

/** A server of the standard `grpc.health.v1.Health`, which needs no identity. */
interface Asked {
  /** Name of the service, for error texts. */
  name: string;
  /** `host:port`. */
  address: string;
  tls?: Tls | undefined;
}

/** Asks whether a server serves. @throws ServiceError if it doesn't */
async function checkHealth(asked: Asked): Promise<void> {
  if ((await statusOf(asked, '')) !== 'SERVING') throw unavailable(`The ${asked.name} service does not serve now.`);
}

/**
 * Asks a server whether something that it depends on works, such as `postgresql`.
 * @returns undefined where the server doesn't depend on it
 * @throws ServiceError if the server doesn't answer
 */
async function checkDependency(asked: Asked, dependency: string): Promise<boolean | undefined> {
  try {
    return (await statusOf(asked, dependency)) === 'SERVING';
  } catch (error) {
    if (error instanceof ServiceError && error.kind === 'not_found') return undefined;
    throw error;
  }
}

async function statusOf({ name, address, tls }: Asked, service: string): Promise<string> {
  const health = client({ check: definition['Check']! }, { name, address, timeoutMs: TIMEOUT_MS, retry: false, tls });
  try {
    return ((await health.check({ service })) as { status: string }).status;
  } finally {
    health.close();
  }
}
