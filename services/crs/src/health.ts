import { unavailable } from '@crs/kit/errors';
import { client } from '@crs/kit/rpc/client';
import type { Tls } from '@crs/kit/process/tls';

/**
 * The standard `grpc.health.v1.Health/Check`, as far as it is needed: an empty request asks for the server as a whole, and
 * field 1 of the answer is the status, where 1 says that it serves.
 */
const Health = {
  check: {
    path: '/grpc.health.v1.Health/Check',
    requestStream: false,
    responseStream: false,
    requestSerialize: (_request: object) => Buffer.alloc(0),
    requestDeserialize: () => ({}),
    responseSerialize: () => Buffer.alloc(0),
    responseDeserialize: (bytes: Buffer) => ({ serving: bytes[0] === 0x08 && bytes[1] === 1 }),
  },
};

const TIMEOUT_MS = 5_000;

/**
 * Asks a gRPC server whether it serves. Needs no identity.
 * @throws ServiceError where it doesn't
 */
export async function checkHealth(name: string, address: string, tls: Tls | undefined): Promise<void> {
  const health = client(Health, { name, address, timeoutMs: TIMEOUT_MS, retry: false, tls });
  try {
    const { serving } = await health.check({});
    if (!serving) throw unavailable(`The ${name} service does not serve now.`);
  } finally {
    health.close();
  }
}
