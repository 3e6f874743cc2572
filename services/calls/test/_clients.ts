import { client, type ServiceClient } from '@crs/kit/grpc-client';
import { derivePassword } from '@crs/kit/migrate';
import { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import { CallsServiceService } from '@crs/proto/crs/calls/v1/calls';
import { SECRET } from '@crs/testing/setup';
import type { World } from '@crs/testing/world';

/** The database as the service connects to it. */
export function serviceDatabaseUrl(world: World): string {
  const url = new URL(world.databaseUrl);
  url.username = 'crs_calls';
  url.password = derivePassword(SECRET, 'calls');
  return url.href;
}

/** Asks the service without a gateway between. */
export function callsClient(address: string): ServiceClient<CallsServiceService> {
  return client(CallsServiceService, { name: 'calls', address, timeoutMs: 10_000, retry: false });
}

/** What the gateway makes of an API key. */
export async function callerToken(world: World, apiKey: string): Promise<string> {
  const auth = client(AuthServiceService, { name: 'auth', address: world.stack.addresses.auth, timeoutMs: 5_000, retry: false });
  try {
    return (await auth.authenticateKey({ apiKey })).callerToken;
  } finally {
    auth.close();
  }
}
