import { Database } from '@crs/kit/database';
import { client } from '@crs/kit/grpc-client';
import { serve } from '@crs/kit/grpc-server';
import { createVerifier } from '@crs/kit/identity';
import { Closer, type Service } from '@crs/kit/lifecycle';
import type { Logger } from '@crs/kit/log';
import { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import type { CallsConfig } from './config.ts';
import type { Context } from './context.ts';
import { adminServices, internalServices } from './handlers/index.ts';
import { NameSecrets } from './store/name-secrets.ts';

/** An import batch is at most 16 MiB. */
const MAX_ADMIN_MESSAGE_BYTES = 20 * 1024 * 1024;
const IMPORT_CONNECTIONS = 2;
const AUTH_TIMEOUT_MS = 5_000;

/** Call records: the internal listener `grpc`, and `admin` for operators. */
export function createCallsService(config: CallsConfig, { log }: { log: Logger }): Service<{ grpc: string; admin: string }> {
  const closer = new Closer(log);
  return {
    async start() {
      const shared = { url: config.databaseUrl, log };
      const db = new Database({ ...shared, name: 'calls', maxConnections: config.maxConnections, pipeline: true });
      closer.defer('database', () => db.close());
      const importDb = new Database({ ...shared, name: 'calls-import', maxConnections: IMPORT_CONNECTIONS, pipeline: false });
      closer.defer('import database', () => importDb.close());
      const auth = client(AuthServiceService, {
        name: 'auth',
        address: config.authAddress,
        timeoutMs: AUTH_TIMEOUT_MS,
        retry: true,
      });
      closer.defer('auth client', () => auth.close());
      const verify = createVerifier(async () => {
        const { keys } = await auth.listCallerKeys({});
        return new Map(keys.map(({ keyId, publicJwk }) => [keyId, publicJwk]));
      });
      const context: Context = { db, importDb, auth, nameSecrets: new NameSecrets(db), log };
      const internal = await serve({ name: 'calls', verify, log, address: config.listen, services: internalServices(context) });
      closer.defer('internal listener', internal.stop);
      const admin = await serve({
        name: 'calls',
        verify,
        log,
        address: config.adminListen,
        services: adminServices(context),
        maxMessageBytes: MAX_ADMIN_MESSAGE_BYTES,
      });
      closer.defer('admin listener', admin.stop);
      return { grpc: internal.address, admin: admin.address };
    },
    stop: () => closer.close(),
  };
}
