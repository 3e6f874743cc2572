import { ServiceError, unavailable } from '@crs/kit/errors';
import type { Tls } from '@crs/kit/process/tls';
import { client } from '@crs/kit/rpc/client';
import { service as definition } from 'grpc-health-check';
import { SERVICES, tlsOf, UNMANAGED, type Unmanaged } from './config.ts';
import type { Connection } from './connection.ts';

const TIMEOUT_MS = 5_000;

export interface Health {
  service: string;
  address: string | null;
  /** Null if unknown or unused. */
  up: boolean | null;
  /** Over an open connection; null without a response. */
  latency_ms: number | null;
  problem: string | null;
}

/** A server of the standard `grpc.health.v1.Health`, which needs no identity. */
interface Endpoint {
  /** The service, for error messages. */
  name: string;
  /** `host:port`. */
  address: string;
  tls?: Tls | undefined;
  serverName?: string | undefined;
}

/** Checks each service, PostgreSQL and Redis. */
export function checkAll({ auth, operator, config }: Connection): Promise<Health[]> {
  const { addresses, health = {} } = config;
  const admin: Endpoint[] = [...SERVICES, 'webhooks' as const].flatMap((name) => {
    const address = addresses[name];
    return address === undefined ? [] : [{ name, address, ...tlsOf(config, name) }];
  });
  // This call uses the operator's credential, so it also detects a bad one. The other checks need no token, and work while auth is down.
  const checkAuth = async () => void (await auth.listOrganizations({}, await operator()));
  return Promise.all([
    ...admin.map((endpoint) => measure(endpoint, endpoint.name === 'auth' ? checkAuth : () => checkHealth(endpoint))),
    ...UNMANAGED.map((name) => checkUnmanaged(name, health[name])),
    checkPostgres(admin),
    checkRedis(health['rate-limit']),
  ]);
}

async function checkUnmanaged(name: Unmanaged, address: string | undefined): Promise<Health> {
  if (address === undefined) {
    return unknown(name, `CRS_${name.toUpperCase().replace('-', '_')}_HEALTH_ADDRESS is not set.`);
  }
  // Health listeners are plaintext.
  return measure({ name, address }, () => checkHealth({ name, address }));
}

/** PostgreSQL, as the services see it. */
async function checkPostgres(admin: Endpoint[]): Promise<Health> {
  const states = await Promise.all(
    admin.map(async (endpoint) => ({
      name: endpoint.name,
      works: await checkDependency(endpoint, 'postgresql').catch(() => undefined),
    })),
  );
  if (states.every(({ works }) => works === undefined)) return unknown('postgresql', 'No service tells.');
  const without = states.filter(({ works }) => works === false).map(({ name }) => name);
  return dependency('postgresql', without.length > 0 ? `It doesn't answer ${without.join(', ')}.` : null);
}

/** Redis, as rate-limit sees it. */
async function checkRedis(address: string | undefined): Promise<Health> {
  const works = address === undefined ? null : await checkDependency({ name: 'rate-limit', address }, 'redis').catch(() => null);
  if (works === null) return unknown('redis', 'The rate-limit service does not tell.');
  if (works === undefined) return unknown('redis', 'Not used: requests are counted in memory.');
  return dependency('redis', works ? null : 'The rate-limit service has no connection.');
}

function unknown(service: string, problem: string): Health {
  return { service, address: null, up: null, latency_ms: null, problem };
}

function dependency(service: string, problem: string | null): Health {
  return { service, address: null, up: problem === null, latency_ms: null, problem };
}

async function measure({ name: service, address }: Endpoint, check: () => Promise<void>): Promise<Health> {
  try {
    // The first request connects.
    await check();
    const started = performance.now();
    await check();
    const latency = Math.round((performance.now() - started) * 10) / 10;
    return { service, address, up: true, latency_ms: latency, problem: null };
  } catch (error) {
    return { service, address, up: false, latency_ms: null, problem: (error as Error).message };
  }
}

/** @throws ServiceError if the server isn't serving */
async function checkHealth(endpoint: Endpoint): Promise<void> {
  if ((await statusOf(endpoint, '')) !== 'SERVING') throw unavailable(`The ${endpoint.name} service does not serve now.`);
}

/**
 * Queries a server whether a dependency, such as `postgresql`, works.
 * @returns undefined if the server doesn't have that dependency
 * @throws ServiceError if the server doesn't respond
 */
async function checkDependency(endpoint: Endpoint, name: string): Promise<boolean | undefined> {
  try {
    return (await statusOf(endpoint, name)) === 'SERVING';
  } catch (error) {
    if (error instanceof ServiceError && error.kind === 'not_found') return undefined;
    throw error;
  }
}

async function statusOf({ name, address, tls }: Endpoint, service: string): Promise<string> {
  const health = client({ check: definition['Check']! }, { name, address, timeoutMs: TIMEOUT_MS, retry: false, tls });
  try {
    return ((await health.check({ service })) as { status: string }).status;
  } finally {
    health.close();
  }
}
