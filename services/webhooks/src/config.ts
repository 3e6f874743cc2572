import { z } from 'zod';
import {
  commaSeparated,
  databaseConnections,
  hostPort,
  passwordFile,
  postgresUrl,
  secrets,
  settings,
} from '@crs/kit/process/config';

export type WebhooksConfig = ReturnType<typeof readConfig>;

export const readConfig = settings({
  /** Listener for operators. */
  adminListen: ['CRS_ADMIN_LISTEN', hostPort.default('0.0.0.0:50052')],
  databaseUrl: ['DATABASE_URL', postgresUrl],
  databasePasswordFile: ['CRS_DATABASE_PASSWORD_FILE', passwordFile],
  maxConnections: ['CRS_DATABASE_CONNECTIONS', databaseConnections],
  authAddress: ['CRS_AUTH_ADDRESS', hostPort],
  callsAddress: ['CRS_CALLS_ADDRESS', hostPort],
  /** Encrypts the endpoints' secrets. The first one encrypts. */
  secrets: ['CRS_SECRET', secrets],
  /** Identifies this program to auth. */
  credential: ['CRS_PROGRAM_CREDENTIAL', z.string().min(32, 'must have at least 32 characters')],
  /** Each `host:port` that endpoints may have although its port or address isn't public. */
  allowHosts: ['CRS_WEBHOOK_ALLOW_HOSTS', commaSeparated(hostPort).default([])],
  /** The proxy for requests to all other hosts. */
  proxyUrl: [
    'HTTPS_PROXY',
    z.url({ protocol: /^https?$/, error: 'must be a URL such as http://egress.example.com:3128' }).optional(),
  ],
});
