// Clients that tests use to call the calls service directly, without a gateway.

import { client, type ServiceClient } from '@crs/kit/rpc/client';
import { derivePassword, serviceUrl } from '@crs/kit/data/migration';
import { CallsServiceService } from '@crs/proto/crs/calls/v1/calls';
import { callerToken } from '@crs/testing/instance';
import { SECRET } from '@crs/testing/setup';
import type { World } from '@crs/testing/world';

/** The database URL with the role and password of the calls service. */
export const serviceDatabaseUrl = ({ databaseUrl }: Pick<World, 'databaseUrl'>): string =>
  serviceUrl(databaseUrl, 'calls', derivePassword(SECRET, 'calls'));

export function callsClient(address: string): ServiceClient<CallsServiceService> {
  return client(CallsServiceService, { name: 'calls', address, timeoutMs: 10_000, retry: false });
}

/** The interviewee's name in a call, as the service at `address` shows it to the holder of the key. */
export async function shownName(world: World, address: string, apiKey: string, callId: string): Promise<string> {
  const calls = callsClient(address);
  try {
    const request = { callId, withoutVerbatim: false, withoutRedacted: false, withoutClean: false };
    const { callJson } = await calls.getOrganizationCall(request, { token: await callerToken(world, apiKey, 'calls') });
    return JSON.parse(Buffer.from(callJson).toString()).interviewee.name;
  } finally {
    calls.close();
  }
}
