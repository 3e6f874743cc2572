import { bind } from '@crs/kit/rpc/server';
import { RateLimitServiceService } from '@crs/proto/envoy/service/ratelimit/v3/rls';
import { shouldRateLimit, type Context } from './should-rate-limit.ts';

const GATEWAYS = ['api-gateway', 'tool-gateway'] as const;

/** For the gateways, and for the clients that `CRS_TLS_FURTHER_PEERS` names. */
export function internalServices(context: Context) {
  return [bind(RateLimitServiceService, GATEWAYS, { shouldRateLimit: shouldRateLimit(context) })];
}
