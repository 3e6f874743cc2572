import { Server, ServerCredentials, type sendUnaryData, type ServerUnaryCall } from '@grpc/grpc-js';
import { HealthImplementation, type ServingStatusMap } from 'grpc-health-check';
import { Fresh } from '../fresh.ts';
import { bindGrpc } from './bind.ts';

/** Checks whether a dependency works now, by its name, such as `postgresql`. */
export type Dependencies = Readonly<Record<string, () => Promise<boolean>>>;

export interface HealthListener {
  address: string;
  setReady(ready: boolean): void;
  stop(): void;
}

/**
 * Starts the health listener of a process: `grpc.health.v1.Health`, in plaintext and without authentication, because probes have no certificate.
 * `liveness` is SERVING while the event loop runs; `readiness`, and the server as a whole (`''`), while the process should get traffic.
 */
export async function startHealth(address: string, dependencies?: Dependencies): Promise<HealthListener> {
  const server = new Server();
  const health = addHealth(server, { '': 'NOT_SERVING', liveness: 'SERVING', readiness: 'NOT_SERVING' }, dependencies);
  return {
    address: await bindGrpc(server, address, ServerCredentials.createInsecure()),
    setReady: (ready) => {
      for (const service of ['', 'readiness']) health.setStatus(service, ready ? 'SERVING' : 'NOT_SERVING');
    },
    // A graceful stop would wait for clients of `Watch`, which never end.
    stop: () => server.forceShutdown(),
  };
}

/** How long the state of a dependency is cached, because anybody who reaches the listener may query it. */
const MAX_AGE_MS = 1_000;

/**
 * Adds `grpc.health.v1.Health` to a server. `Check` also reports each dependency by its name. The status of the process never depends on one:
 * without its database it still responds to requests.
 */
export function addHealth(server: Server, statuses: ServingStatusMap, dependencies: Dependencies = {}): HealthImplementation {
  const health = new HealthImplementation(statuses);
  const states = new Fresh<boolean>({ maxAgeMs: MAX_AGE_MS });
  health.addToServer({
    addService: (definition, implementation) => {
      const { check } = implementation as { check: (call: object, callback: object) => void };
      server.addService(definition, {
        ...implementation,
        check: (call: ServerUnaryCall<{ service: string }, unknown>, callback: sendUnaryData<{ status: string }>) => {
          const { service } = call.request;
          const works = Object.hasOwn(dependencies, service) ? dependencies[service] : undefined;
          if (!works) return check(call, callback);
          const state = states.get(service, () => works().catch(() => false));
          void state.then((isUp) => callback(null, { status: isUp ? 'SERVING' : 'NOT_SERVING' }));
        },
      });
    },
  });
  return health;
}
