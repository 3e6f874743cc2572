import { client, type ServiceClient } from '@crs/kit/rpc/client';
import { createLogger } from '@crs/kit/process/log';
import { derivePassword } from '@crs/kit/data/migration';
import { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import { CallsServiceService } from '@crs/proto/crs/calls/v1/calls';
import { SECRET } from '@crs/testing/setup';
import type { World } from '@crs/testing/world';
import { createCallsService } from '../src/service.ts';

/** The database URL with the role of the service. */
export function serviceDatabaseUrl(world: World): string {
  const url = new URL(world.databaseUrl);
  url.username = 'crs_calls';
  url.password = derivePassword(SECRET, 'calls');
  return url.href;
}

/** A client of the service, without a gateway. */
export function callsClient(address: string): ServiceClient<CallsServiceService> {
  return client(CallsServiceService, { name: 'calls', address, timeoutMs: 10_000, retry: false });
}

/** The caller token that a gateway gets for an API key. */
export async function callerToken(world: World, apiKey: string): Promise<string> {
  const auth = client(AuthServiceService, { name: 'auth', address: world.stack.addresses.auth, timeoutMs: 5_000, retry: false });
  try {
    return (await auth.authenticateKey({ apiKey, audiences: ['calls'] })).callerTokens['calls']!;
  } finally {
    auth.close();
  }
}

/** A second instance of the service on the same database. */
export async function startAnother(world: World): Promise<{ address: string; stop(): Promise<void> }> {
  const service = createCallsService(
    {
      listen: '127.0.0.1:0',
      adminListen: '127.0.0.1:0',
      databaseUrl: serviceDatabaseUrl(world),
      maxConnections: 2,
      authAddress: world.stack.addresses.auth,
    },
    { log: createLogger('another', { level: 'silent' }) },
  );
  const { grpc } = await service.start();
  return { address: grpc, stop: () => service.stop() };
}

/** The interviewee's name in a call, as the service at `address` shows it to the holder of the key. */
export async function shownName(world: World, address: string, apiKey: string, callId: string): Promise<string> {
  const calls = callsClient(address);
  try {
    const request = { callId, withoutVerbatim: false, withoutRedacted: false, withoutClean: false };
    const { callJson } = await calls.getOrganizationCall(request, { token: await callerToken(world, apiKey) });
    return JSON.parse(Buffer.from(callJson).toString()).interviewee.name;
  } finally {
    calls.close();
  }
}
