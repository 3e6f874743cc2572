import { createServer } from 'node:http';
import { Database } from '@crs/kit/data/database';
import { DRAIN_MS, serve } from '@crs/kit/rpc/server';
import { HTTP_TIMEOUTS, listen } from '@crs/kit/http/listener';
import { createVerifier } from '@crs/kit/rpc/identity';
import { Closer, type Service, type Surroundings } from '@crs/kit/process/lifecycle';
import { schemaReady } from '@crs/kit/data/schema-gate';
import { migrations } from '../migrations/index.ts';
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
      await schemaReady('auth', db, migrations, log, closer);
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
      const listeners: { stop: () => Promise<void> }[] = [];
      closer.defer('listeners', () => Promise.all(listeners.map((each) => each.stop())), DRAIN_MS + 1_000);
      const internal = await serve({ ...shared, address: config.listen, services: internalServices(context) });
      listeners.push(internal);
      const admin = await serve({
        ...shared,
        address: config.adminListen,
        services: adminServices(context),
        maxMessageBytes: MAX_ADMIN_MESSAGE_BYTES,
      });
      listeners.push(admin);
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
      const signInApp = createSignInApp(signIn);
      const server = tls ? tls.createHttpsServer(HTTP_TIMEOUTS, signInApp) : createServer(HTTP_TIMEOUTS, signInApp);
      // Without a lame-duck time: the one that asks here, the tool gateway, asks again where it may.
      const http = await listen(server, { address: config.httpListen, lameDuckMs: 0, drainMs: DRAIN_MS });
      listeners.push(http);
      return { grpc: internal.address, admin: admin.address, http: http.address };
    },
    stop: () => closer.close(),
  };
}
