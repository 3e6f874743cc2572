import { service as definition } from 'grpc-health-check';
import { unavailable } from '@crs/kit/errors';
import type { Tls } from '@crs/kit/process/tls';
import { client } from '@crs/kit/rpc/client';

const TIMEOUT_MS = 5_000;

/**
 * Asks the standard `grpc.health.v1.Health/Check` whether a gRPC server serves. Needs no identity.
 * @throws ServiceError if the server doesn't serve
 */
export async function checkHealth(name: string, address: string, tls: Tls | undefined): Promise<void> {
  const health = client({ check: definition['Check']! }, { name, address, timeoutMs: TIMEOUT_MS, retry: false, tls });
  try {
    const { status } = (await health.check({})) as { status: string };
    if (status !== 'SERVING') throw unavailable(`The ${name} service does not serve now.`);
  } finally {
    health.close();
  }
}
