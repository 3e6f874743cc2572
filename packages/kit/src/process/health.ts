import { Server, ServerCredentials, type sendUnaryData, type ServerUnaryCall } from '@grpc/grpc-js';
import { HealthImplementation, type ServingStatusMap } from 'grpc-health-check';
import { Fresh } from '../fresh.ts';
import { bindGrpc } from './bind.ts';

/** Whether something that a process depends on works now, by its name, such as `postgresql`. */
export type Dependencies = Readonly<Record<string, () => Promise<boolean>>>;

export interface HealthListener {
  /** `host:port`. */
  address: string;
  /** @param ready whether the process should get traffic */
  setReady(ready: boolean): void;
  stop(): void;
}

/**
 * The health listener of a process: `grpc.health.v1.Health`. Probes have no certificate, so it is in plaintext and asks for no identity.
 * `liveness` serves while the process turns its event loop; `readiness`, and the server as a whole, while it should get traffic.
 */
export async function startHealth(address: string, dependencies?: Dependencies): Promise<HealthListener> {
  const server = new Server();
  const health = addHealth(server, { '': 'NOT_SERVING', liveness: 'SERVING', readiness: 'NOT_SERVING' }, dependencies);
  return {
    address: await bindGrpc(server, address, ServerCredentials.createInsecure()),
    setReady: (ready) => {
      for (const service of ['', 'readiness']) health.setStatus(service, ready ? 'SERVING' : 'NOT_SERVING');
    },
    // A graceful stop would wait for clients that watch, and they never go.
    stop: () => server.forceShutdown(),
  };
}

/** An answer about a dependency is used this long: whoever reaches the listener may ask. */
const MAX_AGE_MS = 1_000;

/**
 * Adds `grpc.health.v1.Health` to a server. `Check` also answers for each dependency, which is asked then. No status of the process
 * depends on one: a process without its database still answers.
 */
export function addHealth(server: Server, statuses: ServingStatusMap, dependencies: Dependencies = {}): HealthImplementation {
  const health = new HealthImplementation(statuses);
  const works = new Fresh<boolean>({ maxAgeMs: MAX_AGE_MS });
  health.addToServer({
    addService: (definition, implementation) => {
      const { check } = implementation as { check: (call: object, callback: object) => void };
      server.addService(definition, {
        ...implementation,
        check: (call: ServerUnaryCall<{ service: string }, unknown>, callback: sendUnaryData<{ status: string }>) => {
          const { service } = call.request;
          const ask = Object.hasOwn(dependencies, service) ? dependencies[service] : undefined;
          if (!ask) return check(call, callback);
          const answer = works.get(service, () => ask().catch(() => false));
          void answer.then((does) => callback(null, { status: does ? 'SERVING' : 'NOT_SERVING' }));
        },
      });
    },
  });
  return health;
}
