import { createServer, type RequestListener } from 'node:http';
import { splitHostPort } from '@crs/kit/config';
import { Database } from '@crs/kit/database';
import { serve } from '@crs/kit/grpc-server';
import { createVerifier } from '@crs/kit/identity';
import { Closer, type Service, type Surroundings } from '@crs/kit/lifecycle';
import type { Tls } from '@crs/kit/tls';
import type { AuthConfig } from './config.ts';
import type { Context } from './context.ts';
import { AccessTokens } from './domain/access-tokens.ts';
import { oidcClientSecrets } from './domain/oidc-provider.ts';
import { Signer } from './domain/signer.ts';
import { adminServices, internalServices } from './handlers/index.ts';
import { createSignInApp } from './sign-in/app.ts';
import { startCleanup } from './sign-in/cleanup.ts';
import { clientSecrets } from './sign-in/clients.ts';

/** An import batch is at most 16 MiB. */
const MAX_ADMIN_MESSAGE_BYTES = 20 * 1024 * 1024;

/** Who is calling and what they may see: the internal listener `grpc`, `admin` for operators, and `http` for people who sign in. */
export function createAuthService(
  config: AuthConfig,
  { log, tls }: Surroundings,
): Service<{ grpc: string; admin: string; http: string }> {
  const closer = new Closer(log);
  return {
    async start() {
      const db = new Database({
        name: 'auth',
        url: config.databaseUrl,
        maxConnections: config.maxConnections,
        log,
        pipeline: true,
      });
      closer.defer('database', () => db.close());
      const signer = new Signer(db, config.secret, log);
      await signer.start();
      closer.defer('signer', () => signer.stop());
      const accessTokens = new AccessTokens(db, config.secret, config.toolsUrl);
      const context: Context = {
        db,
        log,
        signer,
        accessTokens,
        clientSecrets: clientSecrets(config.secret),
        providerSecrets: oidcClientSecrets(config.secret),
      };
      const verify = createVerifier(() => signer.publicKeys());
      const shared = { name: 'auth', verify, log, tls };
      const internal = await serve({ ...shared, address: config.listen, services: internalServices(context) });
      closer.defer('internal listener', internal.stop);
      const admin = await serve({
        ...shared,
        address: config.adminListen,
        services: adminServices(context),
        maxMessageBytes: MAX_ADMIN_MESSAGE_BYTES,
      });
      closer.defer('admin listener', admin.stop);
      const signIn = {
        db,
        log,
        accessTokens,
        issuer: config.toolsUrl,
        secret: config.secret,
        defaultOrganization: config.defaultOrganization,
        cimdAllowHosts: config.cimdAllowHosts ?? [],
      };
      closer.defer('cleanup', startCleanup(signIn));
      const http = await listen(createSignInApp(signIn), config.httpListen, tls);
      closer.defer('http listener', http.stop);
      return { grpc: internal.address, admin: admin.address, http: http.address };
    },
    stop: () => closer.close(),
  };
}

async function listen(
  app: RequestListener,
  address: string,
  tls: Tls | undefined,
): Promise<{ address: string; stop: () => Promise<void> }> {
  const options = { keepAliveTimeout: 65_000, headersTimeout: 20_000, requestTimeout: 30_000 };
  const server = tls ? tls.createHttpsServer(options, app) : createServer(options, app);
  const { host, port } = splitHostPort(address);
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
  const bound = server.address();
  return {
    address: `${host}:${typeof bound === 'object' && bound ? bound.port : port}`,
    stop: () => {
      const force = setTimeout(() => server.closeAllConnections(), 8_000);
      return new Promise<void>((resolve) => server.close(() => resolve())).finally(() => clearTimeout(force));
    },
  };
}
