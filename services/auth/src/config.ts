import { z } from 'zod';
import {
  commaSeparated,
  databaseConnections,
  hostPort,
  origin,
  passwordFile,
  postgresUrl,
  secrets,
  settings,
} from '@crs/kit/process/config';
import { ORGANIZATION_ID } from '@crs/kit/text';
import { MAX_ACCESS_TOKEN_SECONDS } from './domain/rotation.ts';

const PROVIDER_HOST = /^(?:([a-z0-9][a-z0-9-]{0,39})=)?((?:\[[0-9a-fA-F:.]+\]|[^\s:/=]+):\d{1,5})$/;

/** A host at which OpenID providers may use any port and any IP address, such as a private one. */
export interface ProviderHost {
  /** `host:port`. */
  host: string;
  /** The only organization whose provider may use it. Undefined: any organization whose issuer is on this host. */
  organization?: string | undefined;
}

/** `host:port` or `organization=host:port`. */
const providerHost = z
  .string()
  .regex(PROVIDER_HOST, 'must be host:port or organization=host:port')
  .transform((text): ProviderHost => {
    const [, organization, host = ''] = PROVIDER_HOST.exec(text)!;
    return { organization, host };
  });

/** See `AuthConfig.oidcAllowHosts`. */
export const oidcAllowHosts = commaSeparated(providerHost);

/** See `AuthConfig.accessTokenSeconds`. */
export const accessTokenSeconds = z.coerce
  .number()
  .int()
  .min(600, 'must be at least 600')
  .max(MAX_ACCESS_TOKEN_SECONDS, `must be at most ${MAX_ACCESS_TOKEN_SECONDS}`)
  .default(86_400);

export type AuthConfig = ReturnType<typeof readConfig>;

export const readConfig = settings({
  /** Listener for gateways and services. */
  listen: ['CRS_LISTEN', hostPort.default('0.0.0.0:50051')],
  /** Listener for operators. */
  adminListen: ['CRS_ADMIN_LISTEN', hostPort.default('0.0.0.0:50052')],
  /** HTTP listener for sign-in. Only the tool gateway reaches it, as a reverse proxy. */
  httpListen: ['CRS_HTTP_LISTEN', hostPort.default('0.0.0.0:8082')],
  databaseUrl: ['DATABASE_URL', postgresUrl],
  databasePasswordFile: ['CRS_DATABASE_PASSWORD_FILE', passwordFile],
  maxConnections: ['CRS_DATABASE_CONNECTIONS', databaseConnections],
  /** Encrypt private keys and sign-in state, and sign cookies and forms. The first one encrypts and signs. */
  secrets: ['CRS_SECRET', secrets],
  /** Public origin of the tool gateway: the issuer of access tokens and, with `/mcp`, their audience. */
  toolsUrl: ['CRS_TOOLS_URL', origin],
  /** The organization that people sign in to if nothing else determines it. */
  defaultOrganization: [
    'CRS_DEFAULT_ORGANIZATION',
    z.string().regex(ORGANIZATION_ID, 'must be the id of an organization').optional(),
  ],
  /**
   * Lifetime of an assistant's access token in seconds. Hosted assistants don't refresh a token in mid-conversation, so a short one ends their connection.
   * A revoked grant ends its tokens within a second, whatever their lifetime.
   */
  accessTokenSeconds: ['CRS_ACCESS_TOKEN_SECONDS', accessTokenSeconds],
  /** Days after which entries of the audit trail are deleted. Absent: never. */
  auditDays: ['CRS_AUDIT_DAYS', z.coerce.number().int().min(90, 'must be at least 90').max(36_500).optional()],
  /** Hosts at which client metadata documents may use any port and IP address. For tests. */
  cimdAllowHosts: ['CRS_CIMD_ALLOW_HOSTS', commaSeparated(hostPort).optional()],
  /** Requests to these hosts bypass the proxy. */
  oidcAllowHosts: ['CRS_OIDC_ALLOW_HOSTS', oidcAllowHosts.optional()],
  /** The proxy for all other requests to OpenID providers and for client metadata documents. */
  proxyUrl: [
    'HTTPS_PROXY',
    z.url({ protocol: /^https?$/, error: 'must be a URL such as http://egress.example.com:3128' }).optional(),
  ],
});
