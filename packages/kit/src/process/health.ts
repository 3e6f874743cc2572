import { Server, ServerCredentials } from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';
import { bindGrpc } from './bind.ts';

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
export async function startHealth(address: string): Promise<HealthListener> {
  const health = new HealthImplementation({ '': 'NOT_SERVING', liveness: 'SERVING', readiness: 'NOT_SERVING' });
  const server = new Server();
  health.addToServer(server);
  return {
    address: await bindGrpc(server, address, ServerCredentials.createInsecure()),
    setReady: (ready) => {
      for (const service of ['', 'readiness']) health.setStatus(service, ready ? 'SERVING' : 'NOT_SERVING');
    },
    // A graceful stop would wait for clients that watch, and they never go.
    stop: () => server.forceShutdown(),
  };
}
