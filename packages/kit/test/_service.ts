// Starts a gRPC service with one RPC, `ShouldRateLimit`, and clients of it, for the tests of the gRPC layer.
import { onTestFinished } from 'vitest';
import {
  RateLimitServiceService,
  type RateLimitRequest,
  type RateLimitResponse,
} from '@crs/proto/envoy/service/ratelimit/v3/rls';
import { createLogger } from '../src/process/log.ts';
import type { AdmittedCallers } from '../src/rpc/admitted-callers.ts';
import { client, type CallOptions, type ClientOptions } from '../src/rpc/client.ts';
import { bind, rpc, serve, type CallContext, type ServeOptions } from '../src/rpc/server.ts';

export const log = createLogger('test', { level: 'silent' });

/** The response that handlers return by default. */
export const OK: RateLimitResponse = { overallCode: 'OK', statuses: [] };
/** The request that callers send by default: it has no descriptors. */
export const REQUEST: RateLimitRequest = { domain: '', descriptors: [], hitsAddend: 1 };

/** Serves one RPC until the test ends. */
export async function startService(
  handle: (request: RateLimitRequest, call: CallContext<'anyone'>) => Promise<RateLimitResponse>,
  options: Partial<ServeOptions> = {},
  callers: AdmittedCallers = { anyone: true },
): Promise<Awaited<ReturnType<typeof serve>>> {
  const shouldRateLimit = rpc(callers as { anyone: true }, handle);
  const server = await serve({
    name: 'test',
    address: '127.0.0.1:0',
    services: [bind(RateLimitServiceService, ['api-gateway', 'tool-gateway'], { shouldRateLimit })],
    verify: () => Promise.reject(new Error('The verifier must not be called.')),
    log,
    ...options,
  });
  onTestFinished(() => server.stop());
  return server;
}

/** Returns a function that calls the RPC of the service at this address. */
export function callerOf(address: string, options: Partial<ClientOptions> = {}) {
  const service = client(RateLimitServiceService, { name: 'test', address, timeoutMs: 5_000, retry: false, ...options });
  onTestFinished(() => service.close());
  return (call?: CallOptions, request = REQUEST) => service.shouldRateLimit(request, call);
}
