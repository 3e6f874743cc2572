import { z } from 'zod';
import { hostPort, origin, postgresUrl, readEnvironment, secret, type Environment } from '@crs/kit/config';

export interface AuthConfig {
  /** Listener for gateways and services. */
  listen: string;
  /** Listener for operators. */
  adminListen: string;
  databaseUrl: string;
  maxConnections: number;
  /** Seals private keys in the database. The same on every replica, at least 32 characters. */
  secret: string;
  /** Public origin of the tool gateway, without a slash at its end: issuer of access tokens, and with `/mcp` their audience. */
  toolsUrl: string;
}

const schema = z.object({
  CRS_LISTEN: hostPort.default('0.0.0.0:50051'),
  CRS_ADMIN_LISTEN: hostPort.default('0.0.0.0:50052'),
  DATABASE_URL: postgresUrl,
  CRS_DATABASE_CONNECTIONS: z.coerce.number().int().min(1).max(100).default(8),
  CRS_SECRET: secret,
  CRS_TOOLS_URL: origin.default('http://127.0.0.1:8081'),
});

export function readConfig(environment: Environment): AuthConfig {
  const values = readEnvironment(schema, environment);
  return {
    listen: values.CRS_LISTEN,
    adminListen: values.CRS_ADMIN_LISTEN,
    databaseUrl: values.DATABASE_URL,
    maxConnections: values.CRS_DATABASE_CONNECTIONS,
    secret: values.CRS_SECRET,
    toolsUrl: values.CRS_TOOLS_URL,
  };
}
