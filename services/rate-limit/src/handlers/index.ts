import { bind } from '@crs/kit/rpc/server';
import { RateLimitServiceService } from '@crs/proto/envoy/service/ratelimit/v3/rls';
import type { Context } from '../context.ts';
import { shouldRateLimit } from './should-rate-limit.ts';

/** For the gateways, and for the clients that `CRS_TLS_FURTHER_PEERS` names. */
export function internalServices(context: Context) {
  return [bind(RateLimitServiceService, ['api-gateway', 'tool-gateway'], { shouldRateLimit: shouldRateLimit(context) })];
}
