import { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import { Fresh } from '@crs/kit/fresh';
import { Database } from '@crs/kit/data/database';
import type { Migration } from '@crs/kit/data/migration';
import { databaseConnections, hostPort, passwordFile, postgresUrl, settings } from '@crs/kit/process/config';
import { Shutdown, type Service, type Runtime } from '@crs/kit/process/lifecycle';
import type { Logger } from '@crs/kit/process/log';
import { client, type ServiceClient } from '@crs/kit/rpc/client';
import { createVerifier } from '@crs/kit/rpc/identity';
import type { OperatorDirectory, OperatorRights, OperatorRole } from '@crs/kit/rpc/operators';
import type { BoundService } from '@crs/kit/rpc/server';
import { openDatabase, serveGrpc } from './bootstrap.ts';

/** Settings of the services that store records: calls, projects and entities. */
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

/** Dependencies of the handlers. */
export interface RecordContext {
  /** For requests of callers. */
  db: Database;
  /** For imports, which use COPY, and exports. Has few connections, so that they can't slow down callers. */
  importDb: Database;
  auth: ServiceClient<AuthServiceService>;
  log: Logger;
}

/** An organization may use two: one batch is staged while another is written. Keys import too, so the third is for other organizations. */
const IMPORT_CONNECTIONS = 3;
const AUTH_TIMEOUT_MS = 5_000;

interface RecordService {
  name: string;
  migrations: readonly Migration[];
  /** The RPCs for the gateways. */
  internalServices: (context: RecordContext) => BoundService[];
  /** The RPCs for operators. */
  adminServices: (context: RecordContext) => BoundService[];
}

/** Creates such a service: two pools, a client of auth and two listeners, `grpc` for the gateways and `admin` for operators. */
export function createRecordService(
  service: RecordService,
  config: RecordServiceConfig,
  runtime: Runtime,
): Service<{ grpc: string; admin: string }> {
  const { log, tls } = runtime;
  const shutdown = new Shutdown(log);
  return {
    async start() {
      const db = await openDatabase(service, config, runtime, shutdown);
      const importDb = new Database({
        name: `${service.name}-import`,
        url: config.databaseUrl,
        passwordFile: config.databasePasswordFile,
        log,
        maxConnections: IMPORT_CONNECTIONS,
        pipeline: false,
      });
      shutdown.defer('import database', () => importDb.close());
      const auth = client(AuthServiceService, {
        name: 'auth',
        address: config.authAddress,
        timeoutMs: AUTH_TIMEOUT_MS,
        retry: true,
        tls,
      });
      shutdown.defer('auth client', () => auth.close());
      const callers = { ...createCallers(service.name, auth), db };
      const context = { db, importDb, auth, log };
      const services = { internal: service.internalServices(context), admin: service.adminServices(context) };
      return (await serveGrpc(service.name, config, runtime, shutdown, callers, services)).addresses;
    },
    stop: () => shutdown.run(),
  };
}

/** Returns what a service's listeners need to admit callers. */
export function createCallers(service: string, auth: RecordContext['auth']) {
  const callerKeys = async () => {
    const { keys } = await auth.listCallerKeys({});
    return new Map(keys.map(({ keyId, publicJwk }) => [keyId, publicJwk]));
  };
  return { verify: createVerifier(service, callerKeys), operators: createOperatorDirectory(auth) };
}

/** Calls auth at most once a second for each token. While auth is unavailable, no operator is admitted. */
function createOperatorDirectory(auth: RecordContext['auth']): OperatorDirectory {
  const cache = new Fresh<OperatorRights>({ maxAgeMs: 1_000 });
  const load = async (token: string): Promise<OperatorRights> => {
    const { role, organizationIds } = await auth.checkOperator({}, { token });
    return { role: role as OperatorRole, organizations: organizationIds };
  };
  return {
    rightsOf: (_identity, { token = '' }) => cache.get(token, () => load(token)),
    refused: async ({ token, ...refusal }) => {
      await auth.recordRefusal(refusal, token === undefined ? {} : { token });
    },
  };
}
