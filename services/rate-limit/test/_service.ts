// Starts a rate-limit service with a client, for the tests of its gRPC API.
import { client, type ServiceClient } from '@crs/kit/rpc/client';
import { createLogger } from '@crs/kit/process/log';
import { RateLimitDescriptor } from '@crs/proto/envoy/extensions/common/ratelimit/v3/ratelimit';
import {
  RateLimitServiceService,
  type RateLimitResponse,
  type RateLimitResponse_DescriptorStatus as Status,
} from '@crs/proto/envoy/service/ratelimit/v3/rls';
import { createRateLimitService } from '../src/service.ts';

export const log = createLogger('test', { level: 'silent' });

const defaults = {
  organization: { requests: 600, periodSeconds: 60 },
  user: { requests: 120, periodSeconds: 45 },
  address: { requests: 60, periodSeconds: 1 },
};

/** A running service and its client. */
export interface Running {
  address: string;
  send(descriptors: RateLimitDescriptor[], options?: { domain?: string; hitsAddend?: number }): Promise<RateLimitResponse>;
  /** Sends one descriptor. @returns its status */
  sendOne(entries: Entries, limit?: RateLimitDescriptor['limit']): Promise<Status>;
  stop(): Promise<void>;
}

/** @param redisUrl if undefined, the service counts in its own memory */
export async function startService(redisUrl: string | undefined): Promise<Running> {
  // Long enough for a loaded machine. redis-store.test.ts covers a short timeout.
  const redisTimeoutMs = 3_000;
  const service = createRateLimitService(
    { listen: '127.0.0.1:0', redisUrl, redisPrefix: '', redisTimeoutMs, ...defaults },
    { log },
  );
  const { grpc: address } = await service.start();
  const api: ServiceClient<RateLimitServiceService> = client(RateLimitServiceService, {
    name: 'rate-limit',
    address,
    timeoutMs: 5_000,
    retry: false,
  });
  const send: Running['send'] = (descriptors, { domain = 'call-research', hitsAddend = 0 } = {}) =>
    api.shouldRateLimit({ domain, descriptors, hitsAddend });
  return {
    address,
    send,
    sendOne: async (entries, limit) => (await send([describing(entries, limit)])).statuses[0]!,
    stop: () => {
      api.close();
      return service.stop();
    },
  };
}

/** The entries of a descriptor, by key, in the order of the descriptor. */
export type Entries = Record<string, string>;

export function describing(entries: Entries, limit?: RateLimitDescriptor['limit']): RateLimitDescriptor {
  return { entries: Object.entries(entries).map(([key, value]) => ({ key, value })), limit, hitsAddend: undefined };
}

let lastId = 0;

/** An id that no other test uses. */
export function newId(): string {
  return `subject-${lastId++}`;
}

export function resetOf({ durationUntilReset }: Status): number {
  return durationUntilReset!.seconds * 1_000 + durationUntilReset!.nanos / 1e6;
}
