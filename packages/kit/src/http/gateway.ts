import { createServer, type RequestListener } from 'node:http';
import { z } from 'zod';
import { RateLimiter } from '../limits/limiter.ts';
import { ruleSetting } from '../limits/rule.ts';
import { hostPort, settings, type Settings } from '../process/config.ts';
import { Shutdown, type Service, type Runtime } from '../process/lifecycle.ts';
import type { Logger } from '../process/log.ts';
import { client, type ServiceClient } from '../rpc/client.ts';
import { networksSetting } from './address.ts';
import type { AddressCharging } from './charge.ts';
import { HTTP_TIMEOUTS, listen } from './listener.ts';
import { LookUps } from './look-ups.ts';
import { RefusalCounts } from './refusal-counts.ts';
import { RequestQueue } from './request-queue.ts';

/** Settings of every gateway, besides the address where it listens. */
export const GATEWAY_SETTINGS = {
  authAddress: ['CRS_AUTH_ADDRESS', hostPort],
  callsAddress: ['CRS_CALLS_ADDRESS', hostPort],
  projectsAddress: ['CRS_PROJECTS_ADDRESS', hostPort],
  rateLimitAddress: ['CRS_RATE_LIMIT_ADDRESS', hostPort],
  /** Proxies whose `X-Forwarded-For` header is trusted. */
  trustedProxies: ['CRS_TRUSTED_PROXIES', networksSetting.default([])],
  /** Drain period: how long a stopping gateway still serves new requests. Each response then closes its connection (milliseconds). */
  drainMs: ['CRS_LAME_DUCK_MS', z.coerce.number().int().min(0).max(60_000).default(5_000)],
  /** Rate limit per client address, for requests without a valid credential. */
  addressLimit: ['CRS_ADDRESS_RATE_LIMIT', ruleSetting.prefault('60/60')],
  /** How many requests are processed concurrently. */
  concurrency: ['CRS_CONCURRENCY', z.coerce.number().int().min(1).max(1_000).default(8)],
  /** How many responses of an organization may be open at once. */
  tenantConcurrency: ['CRS_TENANT_CONCURRENCY', z.coerce.number().int().min(1).max(1_000).default(32)],
  /** Whether metrics name organizations. */
  tenantMetrics: ['CRS_TENANT_METRICS', z.stringbool().default(false)],
} satisfies Settings;

type GatewayConfig = ReturnType<ReturnType<typeof settings<typeof GATEWAY_SETTINGS>>> & { listen: string };

/** The resources that {@link createGateway} provides to a gateway's app. */
export interface Gateway extends AddressCharging {
  log: Logger;
  queue: RequestQueue;
  /** Limits look-ups of credentials that auth hasn't verified yet. */
  lookUps: LookUps;
  /** Aggregates the log lines of refusals. */
  refusals: RefusalCounts;
  /** For resources that the app opens. */
  shutdown: Shutdown;
  /** Creates a client of a service, which is closed with the gateway. */
  connect: <D>(definition: D, options: { name: string; address: string; timeoutMs: number }) => ServiceClient<D>;
}

/**
 * Creates a gateway with its limits, request queue and HTTP listener. Stopping it closes everything in reverse order.
 * @param timeoutMs the longest deadline of a request
 * @param open creates the app's clients, and returns a function that creates the request listener once the gateway's address is known
 */
export function createGateway(
  timeoutMs: number,
  {
    rateLimitAddress,
    addressLimit,
    trustedProxies,
    concurrency,
    tenantConcurrency,
    tenantMetrics,
    drainMs,
    listen: at,
  }: GatewayConfig,
  { log, tls }: Runtime,
  open: (gateway: Gateway) => (address: string) => RequestListener,
): Service<{ http: string }> {
  const shutdown = new Shutdown(log);
  return {
    async start() {
      const limiter = new RateLimiter({ address: rateLimitAddress, log, tls });
      shutdown.defer('rate-limit client', () => limiter.close());
      const limits = { limiter, addressLimit, trustedProxies, log };
      const queue = new RequestQueue({ concurrency, perKey: tenantConcurrency, tenantMetrics });
      shutdown.defer('request queue', () => queue.close());
      const lookUps = new LookUps(limiter, queue);
      const refusals = new RefusalCounts(log);
      shutdown.defer('refusal counts', () => refusals.flush());
      const connect: Gateway['connect'] = (definition, options) => {
        const made = client(definition, { ...options, retry: true, tls });
        shutdown.defer(`${options.name} client`, () => made.close());
        return made;
      };
      const createListener = open({ ...limits, queue, lookUps, refusals, shutdown, connect });

      const server = createServer(HTTP_TIMEOUTS);
      const finishMs = timeoutMs + 1_000;
      const { address, stop, longestStopMs } = await listen(server, { address: at, drainMs, finishMs });
      shutdown.defer('http listener', stop, longestStopMs);
      // No request is missed: the server reads none before this turn of the event loop ends.
      server.on('request', createListener(address));
      return { http: address };
    },
    stop: () => shutdown.run(),
  };
}
