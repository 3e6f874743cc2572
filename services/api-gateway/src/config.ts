import { z } from 'zod';
import { hostPort, milliseconds, origin, readEnvironment, tenantConcurrency, type Environment } from '@crs/kit/process/config';
import { ruleSetting, type Rule } from '@crs/kit/limits/rule';
import { networksSetting, type Network } from '@crs/kit/http/address';

export interface ApiGatewayConfig {
  listen: string;
  /** The origin by which clients know the API, for absolute URLs. Absent: where it listens, as on a machine of one's own. */
  publicUrl?: string | undefined;
  authAddress: string;
  callsAddress: string;
  projectsAddress: string;
  rateLimitAddress: string;
  /** Gateways that share the limits; matters only while the rate-limit service is away. */
  replicas: number;
  /** How long it still takes requests when it stops, each answer ending its connection (milliseconds). */
  lameDuckMs: number;
  /** Proxies whose `X-Forwarded-For` is believed. */
  trustedProxies: Network[];
  /** For requests without a usable key, per client address. */
  addressLimit: Rule;
  /** How many requests of an organization are worked on at once. */
  tenantConcurrency: number;
  readTimeoutMs: number;
  /** The deadline of `POST /projects`. */
  writeTimeoutMs: number;
}

const schema = z.object({
  CRS_API_URL: origin,
  CRS_LISTEN: hostPort.default('0.0.0.0:8080'),
  CRS_AUTH_ADDRESS: hostPort,
  CRS_CALLS_ADDRESS: hostPort,
  CRS_PROJECTS_ADDRESS: hostPort,
  CRS_RATE_LIMIT_ADDRESS: hostPort,
  CRS_REPLICAS: z.coerce.number().int().min(1).max(1000).default(1),
  CRS_TRUSTED_PROXIES: networksSetting.default([]),
  CRS_LAME_DUCK_MS: z.coerce.number().int().min(0).max(60_000).default(5_000),
  CRS_ADDRESS_RATE_LIMIT: ruleSetting.prefault('60/60'),
  CRS_TENANT_CONCURRENCY: tenantConcurrency,
  CRS_READ_TIMEOUT_MS: milliseconds.default(5_000),
  CRS_WRITE_TIMEOUT_MS: milliseconds.default(10_000),
});

export function readConfig(environment: Environment): ApiGatewayConfig {
  const values = readEnvironment(schema, environment);
  return {
    listen: values.CRS_LISTEN,
    publicUrl: values.CRS_API_URL,
    authAddress: values.CRS_AUTH_ADDRESS,
    callsAddress: values.CRS_CALLS_ADDRESS,
    projectsAddress: values.CRS_PROJECTS_ADDRESS,
    rateLimitAddress: values.CRS_RATE_LIMIT_ADDRESS,
    replicas: values.CRS_REPLICAS,
    trustedProxies: values.CRS_TRUSTED_PROXIES,
    lameDuckMs: values.CRS_LAME_DUCK_MS,
    addressLimit: values.CRS_ADDRESS_RATE_LIMIT,
    tenantConcurrency: values.CRS_TENANT_CONCURRENCY,
    readTimeoutMs: values.CRS_READ_TIMEOUT_MS,
    writeTimeoutMs: values.CRS_WRITE_TIMEOUT_MS,
  };
}
