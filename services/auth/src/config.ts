import { z } from 'zod';
import { hostPort, origin, postgresUrl, readEnvironment, secret, type Environment } from '@crs/kit/process/config';
import { ORGANIZATION_ID } from '@crs/kit/text';

export interface AuthConfig {
  /** Listener for gateways and services. */
  listen: string;
  /** Listener for operators. */
  adminListen: string;
  /** Listener for sign-in, over HTTP. The tool gateway alone reaches it, and passes requests on. */
  httpListen: string;
  databaseUrl: string;
  maxConnections: number;
  /** Seals private keys in the database. The same on every replica, at least 32 characters. */
  secret: string;
  /** Public origin of the tool gateway, without a slash at its end: issuer of access tokens, and with `/mcp` their audience. */
  toolsUrl: string;
  /** Which organization people sign in to who name none. */
  defaultOrganization?: string | undefined;
  /** `host:port` of client metadata documents that may be at any port and address. For tests. */
  cimdAllowHosts?: readonly string[] | undefined;
}

const schema = z.object({
  CRS_LISTEN: hostPort.default('0.0.0.0:50051'),
  CRS_ADMIN_LISTEN: hostPort.default('0.0.0.0:50052'),
  CRS_HTTP_LISTEN: hostPort.default('0.0.0.0:8082'),
  DATABASE_URL: postgresUrl,
  CRS_DATABASE_CONNECTIONS: z.coerce.number().int().min(1).max(100).default(8),
  CRS_SECRET: secret,
  CRS_TOOLS_URL: origin,
  CRS_DEFAULT_ORGANIZATION: z.string().regex(ORGANIZATION_ID, 'must be the id of an organization').optional(),
  CRS_CIMD_ALLOW_HOSTS: z
    .string()
    .transform((text) => text.split(',').map((part) => part.trim()))
    .pipe(z.array(hostPort))
    .default([]),
});

export function readConfig(environment: Environment): AuthConfig {
  const values = readEnvironment(schema, environment);
  return {
    listen: values.CRS_LISTEN,
    adminListen: values.CRS_ADMIN_LISTEN,
    httpListen: values.CRS_HTTP_LISTEN,
    databaseUrl: values.DATABASE_URL,
    maxConnections: values.CRS_DATABASE_CONNECTIONS,
    secret: values.CRS_SECRET,
    toolsUrl: values.CRS_TOOLS_URL,
    defaultOrganization: values.CRS_DEFAULT_ORGANIZATION,
    cimdAllowHosts: values.CRS_CIMD_ALLOW_HOSTS,
  };
}
