import { z } from 'zod';
import { hostPort, postgresUrl, readEnvironment, type Environment } from '@crs/kit/config';

export interface CallsConfig {
  /** Listener for the gateways. */
  listen: string;
  /** Listener for operators. */
  adminListen: string;
  databaseUrl: string;
  maxConnections: number;
  authAddress: string;
}

const schema = z.object({
  CRS_LISTEN: hostPort.default('0.0.0.0:50051'),
  CRS_ADMIN_LISTEN: hostPort.default('0.0.0.0:50052'),
  DATABASE_URL: postgresUrl,
  CRS_DATABASE_CONNECTIONS: z.coerce.number().int().min(1).max(100).default(8),
  CRS_AUTH_ADDRESS: hostPort,
});

export function readConfig(environment: Environment): CallsConfig {
  const values = readEnvironment(schema, environment);
  return {
    listen: values.CRS_LISTEN,
    adminListen: values.CRS_ADMIN_LISTEN,
    databaseUrl: values.DATABASE_URL,
    maxConnections: values.CRS_DATABASE_CONNECTIONS,
    authAddress: values.CRS_AUTH_ADDRESS,
  };
}
