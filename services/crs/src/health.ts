import { service as definition } from 'grpc-health-check';
import { ServiceError, unavailable } from '@crs/kit/errors';
import type { Tls } from '@crs/kit/process/tls';
import { client } from '@crs/kit/rpc/client';

const TIMEOUT_MS = 5_000;

/** A server of the standard `grpc.health.v1.Health`, which needs no identity. */
export interface Asked {
  /** Name of the service, for error texts. */
  name: string;
  /** `host:port`. */
  address: string;
  tls?: Tls | undefined;
}

/** Asks whether a server serves. @throws ServiceError if it doesn't */
export async function checkHealth(asked: Asked): Promise<void> {
  if ((await statusOf(asked, '')) !== 'SERVING') throw unavailable(`The ${asked.name} service does not serve now.`);
}

/**
 * Asks a server whether something that it depends on works, such as `postgresql`.
 * @returns undefined where the server doesn't depend on it
 * @throws ServiceError if the server doesn't answer
 */
export async function checkDependency(asked: Asked, dependency: string): Promise<boolean | undefined> {
  try {
    return (await statusOf(asked, dependency)) === 'SERVING';
  } catch (error) {
    if (error instanceof ServiceError && error.kind === 'not_found') return undefined;
    throw error;
  }
}

async function statusOf({ name, address, tls }: Asked, service: string): Promise<string> {
  const health = client({ check: definition['Check']! }, { name, address, timeoutMs: TIMEOUT_MS, retry: false, tls });
  try {
    return ((await health.check({ service })) as { status: string }).status;
  } finally {
    health.close();
  }
}
