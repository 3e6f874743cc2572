import { Server, ServerCredentials } from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';

export interface HealthListener {
  /** `host:port`. */
  address: string;
  /** Says whether the process should get traffic. */
  setReady(ready: boolean): void;
  stop(): void;
}

/**
 * The health listener of a process: `grpc.health.v1.Health`, in plaintext and without identity, as those who probe have no certificate.
 * `liveness` serves while the process turns its event loop, `readiness` (and the server as a whole) while it should get traffic.
 */
export async function startHealth(address: string): Promise<HealthListener> {
  const health = new HealthImplementation({ '': 'NOT_SERVING', liveness: 'SERVING', readiness: 'NOT_SERVING' });
  const server = new Server();
  health.addToServer(server);
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, bound) => (error ? reject(error) : resolve(bound))),
  );
  return {
    address: `${address.slice(0, address.lastIndexOf(':'))}:${port}`,
    setReady: (ready) => {
      for (const service of ['', 'readiness']) health.setStatus(service, ready ? 'SERVING' : 'NOT_SERVING');
    },
    // Who watches would never go.
    stop: () => server.forceShutdown(),
  };
}
