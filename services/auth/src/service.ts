import { createServer } from 'node:http';
import { HTTP_TIMEOUTS, listen } from '@crs/kit/http/listener';
import { Shutdown, type Service, type Runtime } from '@crs/kit/process/lifecycle';
import { openDatabase, serveGrpc } from '@crs/records/bootstrap';
import { createVerifier } from '@crs/kit/rpc/identity';
import { FINISH_MS } from '@crs/kit/rpc/server';
import { migrations } from '../migrations/index.ts';
import { startAuditRetention } from './audit-retention.ts';
import type { AuthConfig } from './config.ts';
import type { Context } from './context.ts';
import { adminServices, internalServices } from './handlers/index.ts';
import { AccessTokens } from './keys/access-tokens.ts';
import { KeyRing } from './keys/key-ring.ts';
import { createEncrypters } from './keys/encrypters.ts';
import { waitForSecrets } from './keys/wait-for-secrets.ts';
import { Signer } from './keys/signer.ts';
import { createOperatorDirectory } from './operator-directory.ts';
import { createSignInApp } from './sign-in/app.ts';
import { startCleanup } from './sign-in/cleanup.ts';

/** Creates auth. It listens at `grpc` for gateways and services, at `admin` for operators, and at `http` for sign-in. */
export function createAuthService(config: AuthConfig, runtime: Runtime): Service<{ grpc: string; admin: string; http: string }> {
  const { log, tls } = runtime;
  const { toolsUrl, secrets } = config;
  const shutdown = new Shutdown(log);
  return {
    async start() {
      const db = await openDatabase({ name: 'auth', migrations }, config, runtime, shutdown);
      const encrypters = createEncrypters(secrets);
      const rings = {
        caller_key: new KeyRing('caller_key', db, encrypters, log),
        token_key: new KeyRing('token_key', db, encrypters, log),
      };
      const signer = new Signer(rings.caller_key);
      const accessTokens = new AccessTokens(rings.token_key, toolsUrl);
      const verify = createVerifier('auth', () => signer.publicKeys());
      const operators = createOperatorDirectory(db, verify);
      const context: Context = { db, log, verify, operators, signer, accessTokens, toolsUrl, secrets, encrypters, rings };
      await waitForSecrets(context, log, shutdown);
      const services = { internal: internalServices(context), admin: adminServices(context) };
      const { addresses, listeners } = await serveGrpc('auth', config, runtime, shutdown, { verify, operators, db }, services);
      const signIn = {
        db,
        log,
        accessTokens,
        accessTokenSeconds: config.accessTokenSeconds,
        issuer: toolsUrl,
        encrypters,
        secrets,
        defaultOrganization: config.defaultOrganization,
        cimdAllowHosts: config.cimdAllowHosts ?? [],
        oidcAllowHosts: config.oidcAllowHosts ?? [],
        proxyUrl: config.proxyUrl,
      };
      shutdown.defer('cleanup', startCleanup(signIn));
      if (config.auditDays !== undefined) shutdown.defer('audit retention', startAuditRetention(config.auditDays, db, log));
      const signInApp = createSignInApp(signIn);
      const server = tls
        ? tls.createHttpsServer(HTTP_TIMEOUTS, ['tool-gateway'], signInApp)
        : createServer(HTTP_TIMEOUTS, signInApp);
      // No drain period before the listener closes: the tool gateway, its only client, retries refused requests if that is safe.
      const http = await listen(server, { address: config.httpListen, drainMs: 0, finishMs: FINISH_MS });
      listeners.push(http);
      return { ...addresses, http: http.address };
    },
    stop: () => shutdown.run(),
  };
}
