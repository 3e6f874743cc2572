import { Database } from '@crs/kit/data/database';
import type { Migration } from '@crs/kit/data/migration';
import { schemaReady } from '@crs/kit/data/schema-readiness';
import { directoryScope, workFor } from '@crs/kit/data/scope';
import type { Shutdown, Runtime } from '@crs/kit/process/lifecycle';
import type { Verifier } from '@crs/kit/rpc/identity';
import type { OperatorDirectory } from '@crs/kit/rpc/operators';
import { FINISH_MS, serve, type BoundService } from '@crs/kit/rpc/server';

/** An import batch has at most 16 MiB, and so has a service's request to auth about the people in it. */
const MAX_MESSAGE_BYTES = 20 * 1024 * 1024;

/** Opens a service's pool for callers' requests, and waits until the schema is complete. */
export async function openDatabase(
  { name, migrations }: { name: string; migrations: readonly Migration[] },
  config: { databaseUrl: string; databasePasswordFile?: string | undefined; maxConnections: number },
  { log }: Runtime,
  shutdown: Shutdown,
): Promise<Database> {
  const { databaseUrl: url, databasePasswordFile, maxConnections } = config;
  const db = new Database({ name, url, passwordFile: databasePasswordFile, maxConnections, log, pipeline: true });
  shutdown.defer('database', () => db.close());
  await schemaReady(name, db, migrations, log, shutdown);
  return db;
}

/**
 * Starts the gRPC listeners of a service: `grpc` for gateways and services, `admin` for operators.
 * @returns their addresses, and the list of listeners, which stop together. The caller may add its own
 */
export async function serveGrpc(
  name: string,
  config: { listen: string; adminListen: string },
  runtime: Runtime,
  shutdown: Shutdown,
  callers: Callers,
  services: { internal: BoundService[]; admin: BoundService[] },
) {
  const listeners: { stop: () => Promise<void> }[] = [];
  shutdown.defer('listeners', () => Promise.all(listeners.map((each) => each.stop())), FINISH_MS + 1_000);
  const internal = await serve({ ...shared(name, runtime, callers), address: config.listen, services: services.internal });
  listeners.push(internal);
  const admin = await serveAdmin(name, config.adminListen, runtime, callers, services.admin);
  listeners.push(admin);
  return { addresses: { grpc: internal.address, admin: admin.address }, listeners };
}

/** Starts the listener for operators alone. */
export function serveAdmin(name: string, address: string, runtime: Runtime, callers: Callers, services: BoundService[]) {
  return serve({ ...shared(name, runtime, callers), address, services, dependencies: { postgresql: () => ping(callers.db) } });
}

interface Callers {
  verify: Verifier;
  operators: OperatorDirectory;
  db: Database;
}

function shared(name: string, { log, tls }: Runtime, { verify, operators }: Callers) {
  return { name, verify, operators, log, tls, maxMessageBytes: MAX_MESSAGE_BYTES };
}

const PING_TIMEOUT_MS = 2_000;

async function ping(db: Database): Promise<boolean> {
  await db.read(directoryScope(workFor(PING_TIMEOUT_MS)), { name: 'ping', text: 'select' });
  return true;
}
