import { z } from 'zod';
import {
  hostPort,
  milliseconds,
  origin,
  readEnvironment,
  secret,
  tenantConcurrency,
  type Environment,
} from '@crs/kit/process/config';
import { networksSetting, type Network } from '@crs/kit/http/address';
import { ruleSetting, type Rule } from '@crs/kit/limits/rule';

export interface ToolGatewayConfig {
  listen: string;
  /** Public origin, without a slash at its end. */
  publicUrl: string;
  authAddress: string;
  /** Auth's HTTP listener, to which sign-in is passed on. Absent: there is none. */
  authHttpAddress?: string | undefined;
  callsAddress: string;
  projectsAddress: string;
  entitiesAddress: string;
  rateLimitAddress: string;
  /** Gateways that share the limits; matters only while the rate-limit service is away. */
  replicas: number;
  trustedProxies: Network[];
  /** How long it still takes requests when it stops, each answer ending its connection (milliseconds). */
  lameDuckMs: number;
  /** For requests without a usable token, per client address. */
  addressLimit: Rule;
  /** For sign-in, per client address. */
  signInLimit: Rule;
  /** How many tool calls of an organization are worked on at once. */
  tenantConcurrency: number;
  timeoutMs: number;
  /** Seals cursors; the same on every replica. */
  secret: string;
  /** Further origins whose pages may call the tools. */
  allowedOrigins: string[];
  /** Any loopback name and origin is fine: for one machine only. */
  loopback: boolean;
}

const schema = z.object({
  CRS_LISTEN: hostPort.default('0.0.0.0:8081'),
  CRS_TOOLS_URL: origin,
  CRS_AUTH_ADDRESS: hostPort,
  CRS_AUTH_HTTP_ADDRESS: hostPort.optional(),
  CRS_CALLS_ADDRESS: hostPort,
  CRS_PROJECTS_ADDRESS: hostPort,
  CRS_ENTITIES_ADDRESS: hostPort,
  CRS_RATE_LIMIT_ADDRESS: hostPort,
  CRS_REPLICAS: z.coerce.number().int().min(1).max(1000).default(1),
  CRS_TRUSTED_PROXIES: networksSetting.default([]),
  CRS_LAME_DUCK_MS: z.coerce.number().int().min(0).max(60_000).default(5_000),
  CRS_ADDRESS_RATE_LIMIT: ruleSetting.prefault('60/60'),
  CRS_SIGN_IN_RATE_LIMIT: ruleSetting.prefault('600/60'),
  CRS_TENANT_CONCURRENCY: tenantConcurrency,
  CRS_TOOL_TIMEOUT_MS: milliseconds.default(15_000),
  CRS_SECRET: secret,
  CRS_ALLOWED_ORIGINS: z
    .string()
    .transform((text) => text.split(',').map((part) => part.trim()))
    .pipe(z.array(origin))
    .default([]),
});

export function readConfig(environment: Environment): ToolGatewayConfig {
  const values = readEnvironment(schema, environment);
  return {
    listen: values.CRS_LISTEN,
    publicUrl: values.CRS_TOOLS_URL,
    authAddress: values.CRS_AUTH_ADDRESS,
    authHttpAddress: values.CRS_AUTH_HTTP_ADDRESS,
    callsAddress: values.CRS_CALLS_ADDRESS,
    projectsAddress: values.CRS_PROJECTS_ADDRESS,
    entitiesAddress: values.CRS_ENTITIES_ADDRESS,
    rateLimitAddress: values.CRS_RATE_LIMIT_ADDRESS,
    replicas: values.CRS_REPLICAS,
    trustedProxies: values.CRS_TRUSTED_PROXIES,
    lameDuckMs: values.CRS_LAME_DUCK_MS,
    addressLimit: values.CRS_ADDRESS_RATE_LIMIT,
    signInLimit: values.CRS_SIGN_IN_RATE_LIMIT,
    tenantConcurrency: values.CRS_TENANT_CONCURRENCY,
    timeoutMs: values.CRS_TOOL_TIMEOUT_MS,
    secret: values.CRS_SECRET,
    allowedOrigins: values.CRS_ALLOWED_ORIGINS,
    loopback: false,
  };
}
