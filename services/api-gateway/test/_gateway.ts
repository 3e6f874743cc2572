// Starts further API gateways with their own settings, and makes client addresses with unused rate limits.
import { randomInt } from 'node:crypto';
import { parseNetworks } from '@crs/kit/http/address';
import { createLogger } from '@crs/kit/process/log';
import { restClient, type Rest } from '@crs/testing/rest';
import type { World } from '@crs/testing/world';
import type { ApiGatewayConfig } from '../src/config.ts';
import { createApiGateway } from '../src/service.ts';

/** A setting for `trustedProxies`, so that a test can set the client address in `X-Forwarded-For`. */
export const LOOPBACK = parseNetworks('127.0.0.1')!;

/** A random client address, which no other test is likely to have charged. */
export const newAddress = () => `198.${18 + randomInt(2)}.${randomInt(256)}.${randomInt(256)}`;

/** The prefix of a random IPv6 /48, which no other test is likely to have charged. */
export const newNetwork = () => `2001:db8:${randomInt(65_536).toString(16)}`;

export interface Gateway {
  /** `host:port` */
  address: string;
  rest: Rest;
  stop(): Promise<void>;
}

/** Starts a further gateway of the test environment, with these settings. It appends to the log of the environment. */
export async function startGateway(world: World, settings: Partial<ApiGatewayConfig>): Promise<Gateway> {
  const { auth, calls, projects, entities, rateLimit } = world.stack.addresses;
  const log = createLogger('api-gateway', { level: 'debug', destination: { write: (line) => void world.log.push(line) } });
  const service = createApiGateway(
    {
      listen: '127.0.0.1:0',
      authAddress: auth,
      callsAddress: calls,
      rateLimitAddress: rateLimit,
      trustedProxies: [],
      drainMs: 0,
      addressLimit: { requests: 1_000_000, periodSeconds: 60 },
      projectsAddress: projects,
      entitiesAddress: entities,
      concurrency: 8,
      tenantConcurrency: 32,
      tenantMetrics: false,
      readTimeoutMs: 5_000,
      writeTimeoutMs: 10_000,
      ...settings,
    },
    { log },
  );
  const { http: address } = await service.start();
  return { address, rest: restClient(`http://${address}`), stop: () => service.stop() };
}
