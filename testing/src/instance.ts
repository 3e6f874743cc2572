/** A second instance of one service, for tests of what instances share. */
import { createCallsService } from '@crs/calls/service';
import { derivePassword, serviceUrl } from '@crs/kit/data/migration';
import { createLogger } from '@crs/kit/process/log';
import { client } from '@crs/kit/rpc/client';
import { createProjectsService } from '@crs/projects/service';
import { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import { SECRET } from './setup.ts';
import type { World } from './world.ts';

const CREATE = { calls: createCallsService, projects: createProjectsService };

/** Starts a second instance of a service on the same database. @param authAddress by default the real address of auth */
export async function startInstance(
  { databaseUrl, stack }: World,
  service: keyof typeof CREATE,
  authAddress = stack.addresses.auth,
): Promise<{ address: string; stop(): Promise<void> }> {
  const instance = CREATE[service](
    {
      listen: '127.0.0.1:0',
      adminListen: '127.0.0.1:0',
      databaseUrl: serviceUrl(databaseUrl, service, derivePassword(SECRET, service)),
      maxConnections: 2,
      authAddress,
    },
    { log: createLogger('instance', { level: 'silent' }) },
  );
  const { grpc } = await instance.start();
  return { address: grpc, stop: () => instance.stop() };
}

/** The caller token that a gateway gets for an API key. */
export async function callerToken({ stack }: World, apiKey: string, audience: keyof typeof CREATE): Promise<string> {
  const auth = client(AuthServiceService, { name: 'auth', address: stack.addresses.auth, timeoutMs: 5_000, retry: false });
  try {
    return (await auth.authenticateKey({ apiKey, audiences: [audience] })).callerTokens[audience]!;
  } finally {
    auth.close();
  }
}
