import { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import { databaseConnections, hostPort, postgresUrl, settings } from '../process/config.ts';
import { Database } from '../data/database.ts';
import { client, type ServiceClient } from '../rpc/client.ts';
import { DRAIN_MS, serve, type BoundService } from '../rpc/server.ts';
import { createVerifier } from '../rpc/identity.ts';
import { Closer, type Service, type Surroundings } from '../process/lifecycle.ts';
import type { Migration } from '../data/migration.ts';
import { schemaReady } from '../data/schema-gate.ts';
import type { Logger } from '../process/log.ts';

/** Settings of a service that owns records of organizations: calls, projects, entities. */
export const readRecordServiceConfig = settings({
  /** Listener for the gateways. */
  listen: ['CRS_LISTEN', hostPort.default('0.0.0.0:50051')],
  /** Listener for operators. */
  adminListen: ['CRS_ADMIN_LISTEN', hostPort.default('0.0.0.0:50052')],
  databaseUrl: ['DATABASE_URL', postgresUrl],
  maxConnections: ['CRS_DATABASE_CONNECTIONS', databaseConnections],
  authAddress: ['CRS_AUTH_ADDRESS', hostPort],
});

export type RecordServiceConfig = ReturnType<typeof readRecordServiceConfig>;

/** What handlers of every such service work with. */
export interface RecordContext {
  /** For requests of callers. */
  db: Database;
  /** For imports, which COPY; few, so that they can't crowd out callers. */
  importDb: Database;
  auth: ServiceClient<AuthServiceService>;
  log: Logger;
}

/** An import batch is at most 16 MiB. */
const MAX_ADMIN_MESSAGE_BYTES = 20 * 1024 * 1024;
/** What `crs` has under way at once. */
const IMPORT_CONNECTIONS = 3;
const AUTH_TIMEOUT_MS = 5_000;

/** The frame of such a service: two listeners, two pools, auth, and the verification of tokens; `bind` adds what it does. */
export function createRecordService(
  { name, migrations }: { name: string; migrations: readonly Migration[] },
  config: RecordServiceConfig,
  { log, tls }: Surroundings,
  bindServices: (context: RecordContext) => { internal: BoundService[]; admin: BoundService[] },
): Service<{ grpc: string; admin: string }> {
  const closer = new Closer(log);
  return {
    async start() {
      const pool = { url: config.databaseUrl, log };
      const db = new Database({ ...pool, name, maxConnections: config.maxConnections, pipeline: true });
      closer.defer('database', () => db.close());
      await schemaReady(name, db, migrations, log, closer);
      const importDb = new Database({
        ...pool,
        name: `${name}-import`,
        maxConnections: IMPORT_CONNECTIONS,
        maxPerTenant: IMPORT_CONNECTIONS,
        pipeline: false,
      });
      closer.defer('import database', () => importDb.close());
      const auth = client(AuthServiceService, {
        name: 'auth',
        address: config.authAddress,
        timeoutMs: AUTH_TIMEOUT_MS,
        retry: true,
        tls,
      });
      closer.defer('auth client', () => auth.close());
      const verify = createVerifier(async () => {
        const { keys } = await auth.listCallerKeys({});
        return new Map(keys.map(({ keyId, publicJwk }) => [keyId, publicJwk]));
      });
      const services = bindServices({ db, importDb, auth, log });
      const shared = { name, verify, log, tls };
      const listeners: { stop: () => Promise<void> }[] = [];
      closer.defer('listeners', () => Promise.all(listeners.map((each) => each.stop())), DRAIN_MS + 1_000);
      const internal = await serve({ ...shared, address: config.listen, services: services.internal });
      listeners.push(internal);
      const admin = await serve({
        ...shared,
        address: config.adminListen,
        services: services.admin,
        maxMessageBytes: MAX_ADMIN_MESSAGE_BYTES,
      });
      listeners.push(admin);
      return { grpc: internal.address, admin: admin.address };
    },
    stop: () => closer.close(),
  };
}
