import { createApiGateway } from '@crs/api-gateway/service';
import { createAuthService } from '@crs/auth/service';
import { createCallsService } from '@crs/calls/service';
import { createEntitiesService } from '@crs/entities/service';
import { prepareDatabase as prepare } from '@crs/install/prepare-database';
import { Shutdown } from '@crs/kit/process/lifecycle';
import type { Logger } from '@crs/kit/process/log';
import { parseSecrets } from '@crs/kit/process/secrets';
import { derivePassword, roleOf, serviceUrl } from '@crs/kit/data/migration';
import type { Rule } from '@crs/kit/limits/rule';
import { createProjectsService } from '@crs/projects/service';
import { createRateLimitService } from '@crs/rate-limit/service';
import { createToolGateway } from '@crs/tool-gateway/service';
import { createWebhooksService, type WebhooksOverrides } from '@crs/webhooks/service';

export interface StackConfig {
  /** URL of PostgreSQL for a role that may create roles and schemas. */
  adminDatabaseUrl: string;
  /** If absent, requests are counted in memory. */
  redisUrl?: string | undefined;
  /** Used as CRS_SECRET, and to derive the passwords of the services' database roles. */
  secret: string;
  /** The first operator's credential. */
  operatorCredential: string;
  /** `host:port` of the REST API. Port 0: any free port. */
  apiListen: string;
  /** The API's public origin. Default: the address on which it listens. */
  apiUrl?: string | undefined;
  /** `host:port` of the tools. */
  toolsListen: string;
  /** Public origin of the tool gateway. */
  toolsUrl: string;
  /** Organization of users who sign in without naming one. */
  defaultOrganization?: string | undefined;
  /** Lifetime of an assistant's access token. Default: a day. */
  accessTokenSeconds?: number | undefined;
  /** Each `host:port` from which client metadata documents may be fetched although its address or port isn't public. For tests. */
  cimdAllowHosts?: string[] | undefined;
  /** Hosts of OpenID providers that may have any port and address. For tests. */
  oidcAllowHosts?: { host: string; organization?: string | undefined }[] | undefined;
  /** Each `host:port` that webhook endpoints may have although it isn't public. */
  webhookAllowHosts?: string[] | undefined;
  webhooksOverrides?: WebhooksOverrides | undefined;
  /** Limit for requests without a usable credential. Default: the gateways'. */
  addressLimit?: Rule | undefined;
}

export interface Stack {
  addresses: Record<'api' | 'tools' | 'rateLimit' | 'authHttp' | RecordService | `${RecordService | 'webhooks'}Admin`, string>;
  stop: () => Promise<void>;
}

type RecordService = 'auth' | 'projects' | 'calls' | 'entities';

const LOOPBACK = '127.0.0.1:0';
const LIMITS = {
  organization: { requests: 600, periodSeconds: 60 },
  user: { requests: 120, periodSeconds: 60 },
  address: { requests: 60, periodSeconds: 60 },
};

/** Migrates every schema and sets the passwords of the services' database roles. */
export async function prepareDatabase({
  adminDatabaseUrl,
  secret,
  operatorCredential,
}: Pick<StackConfig, 'adminDatabaseUrl' | 'secret' | 'operatorCredential'>): Promise<void> {
  await prepare({
    adminUrl: adminDatabaseUrl,
    loginOf: (service) => ({ role: roleOf(service), password: derivePassword(secret, service) }),
    operator: { name: 'local', credential: operatorCredential },
    webhooksCredential: webhooksCredential(secret),
  });
}

/** The credential by which the program webhooks gets its tokens from auth. */
export function webhooksCredential(secret: string): string {
  return derivePassword(secret, 'webhooks-program');
}

/** Starts all services in this process. They call each other by gRPC over loopback, as they would in separate processes. */
export async function startStack(config: StackConfig, loggerOf: (service: string) => Logger): Promise<Stack> {
  const shutdown = new Shutdown(loggerOf('local'));
  const logFor = (service: string) => ({ log: loggerOf(service) });
  const databaseOf = (service: string) => serviceUrl(config.adminDatabaseUrl, service, derivePassword(config.secret, service));
  async function start<A>(name: string, service: { start(): Promise<A>; stop(): Promise<void> }): Promise<A> {
    shutdown.defer(name, () => service.stop());
    return service.start();
  }
  try {
    const rateLimit = await start(
      'rate-limit',
      createRateLimitService(
        { listen: LOOPBACK, redisUrl: config.redisUrl, redisPrefix: '', redisTimeoutMs: 50, ...LIMITS },
        logFor('rate-limit'),
      ),
    );
    const listeners = { listen: LOOPBACK, adminListen: LOOPBACK, maxConnections: 8 };
    const auth = await start(
      'auth',
      createAuthService(
        {
          ...listeners,
          httpListen: LOOPBACK,
          databaseUrl: databaseOf('auth'),
          secrets: parseSecrets(config.secret),
          toolsUrl: config.toolsUrl,
          accessTokenSeconds: config.accessTokenSeconds ?? 86_400,
          defaultOrganization: config.defaultOrganization,
          cimdAllowHosts: config.cimdAllowHosts,
          oidcAllowHosts: config.oidcAllowHosts,
        },
        logFor('auth'),
      ),
    );
    const records = (service: RecordService) => ({ ...listeners, databaseUrl: databaseOf(service), authAddress: auth.grpc });
    const projects = await start('projects', createProjectsService(records('projects'), logFor('projects')));
    const calls = await start('calls', createCallsService(records('calls'), logFor('calls')));
    const entities = await start('entities', createEntitiesService(records('entities'), logFor('entities')));
    const webhooks = await start(
      'webhooks',
      createWebhooksService(
        {
          ...listeners,
          databaseUrl: databaseOf('webhooks'),
          authAddress: auth.grpc,
          callsAddress: calls.grpc,
          secrets: parseSecrets(config.secret),
          credential: webhooksCredential(config.secret),
          allowHosts: config.webhookAllowHosts ?? [],
        },
        logFor('webhooks'),
        config.webhooksOverrides,
      ),
    );
    const gateway = {
      authAddress: auth.grpc,
      callsAddress: calls.grpc,
      projectsAddress: projects.grpc,
      entitiesAddress: entities.grpc,
      rateLimitAddress: rateLimit.grpc,
      trustedProxies: [],
      drainMs: 0,
      addressLimit: config.addressLimit ?? LIMITS.address,
      concurrency: 8,
      tenantConcurrency: 32,
      tenantMetrics: false,
    };
    const api = await start(
      'api-gateway',
      createApiGateway(
        {
          ...gateway,
          listen: config.apiListen,
          publicUrl: config.apiUrl,
          toolsUrl: config.toolsUrl,
          readTimeoutMs: 5_000,
          writeTimeoutMs: 10_000,
        },
        logFor('api-gateway'),
      ),
    );
    const tools = await start(
      'tool-gateway',
      createToolGateway(
        {
          ...gateway,
          listen: config.toolsListen,
          publicUrl: config.toolsUrl,
          authHttpAddress: auth.http,
          signInLimit: config.addressLimit ?? { requests: 600, periodSeconds: 60 },
          timeoutMs: 15_000,
          secrets: parseSecrets(config.secret),
          allowedOrigins: [],
          loopback: true,
        },
        logFor('tool-gateway'),
      ),
    );
    return {
      addresses: {
        api: api.http,
        tools: tools.http,
        auth: auth.grpc,
        authAdmin: auth.admin,
        authHttp: auth.http,
        projects: projects.grpc,
        projectsAdmin: projects.admin,
        calls: calls.grpc,
        callsAdmin: calls.admin,
        entities: entities.grpc,
        entitiesAdmin: entities.admin,
        webhooksAdmin: webhooks.admin,
        rateLimit: rateLimit.grpc,
      },
      stop: () => shutdown.run(),
    };
  } catch (error) {
    await shutdown.run();
    throw error;
  }
}
