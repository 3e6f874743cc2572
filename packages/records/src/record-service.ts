import { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import { Database } from '@crs/kit/data/database';
import type { Migration } from '@crs/kit/data/migration';
import { databaseConnections, hostPort, passwordFile, postgresUrl, settings } from '@crs/kit/process/config';
import { Closer, type Service, type Surroundings } from '@crs/kit/process/lifecycle';
import type { Logger } from '@crs/kit/process/log';
import { client, type ServiceClient } from '@crs/kit/rpc/client';
import { createVerifier } from '@crs/kit/rpc/identity';
import type { BoundService } from '@crs/kit/rpc/server';
import { openDatabase, serveGrpc } from './frame.ts';
import { askAboutOperators } from './ask-about-operators.ts';

/** Settings of a service that owns records of organizations: calls, projects, entities. */
export const readRecordServiceConfig = settings({
  /** Listener for the gateways. */
  listen: ['CRS_LISTEN', hostPort.default('0.0.0.0:50051')],
  /** Listener for operators. */
  adminListen: ['CRS_ADMIN_LISTEN', hostPort.default('0.0.0.0:50052')],
  databaseUrl: ['DATABASE_URL', postgresUrl],
  databasePasswordFile: ['CRS_DATABASE_PASSWORD_FILE', passwordFile],
  maxConnections: ['CRS_DATABASE_CONNECTIONS', databaseConnections],
  authAddress: ['CRS_AUTH_ADDRESS', hostPort],
});

export type RecordServiceConfig = ReturnType<typeof readRecordServiceConfig>;

/** The dependencies of the handlers of such a service. */
export interface RecordContext {
  /** For requests of callers. */
  db: Database;
  /** For imports, which use COPY, and exports. It has few connections, so that neither can slow down callers. */
  importDb: Database;
  auth: ServiceClient<AuthServiceService>;
  log: Logger;
}

/** `crs` sends this many batches at once. */
const IMPORT_CONNECTIONS = 3;
const AUTH_TIMEOUT_MS = 5_000;

/** Creates such a service: two pools, a client of auth and two listeners. `bindServices` adds its RPCs. */
export function createRecordService(
  service: { name: string; migrations: readonly Migration[] },
  config: RecordServiceConfig,
  surroundings: Surroundings,
  bindServices: (context: RecordContext) => { internal: BoundService[]; admin: BoundService[] },
): Service<{ grpc: string; admin: string }> {
  const { log, tls } = surroundings;
  const closer = new Closer(log);
  return {
    async start() {
      const db = await openDatabase(service, config, surroundings, closer);
      const importDb = new Database({
        name: `${service.name}-import`,
        url: config.databaseUrl,
        passwordFile: config.databasePasswordFile,
        log,
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
      const keys = async () => {
        const answer = await auth.listCallerKeys({});
        return new Map(answer.keys.map(({ keyId, publicJwk }) => [keyId, publicJwk]));
      };
      const callers = { verify: createVerifier(service.name, keys), operators: askAboutOperators(auth), db };
      const services = bindServices({ db, importDb, auth, log });
      return (await serveGrpc(service.name, config, surroundings, closer, callers, services)).addresses;
    },
    stop: () => closer.close(),
  };
}
