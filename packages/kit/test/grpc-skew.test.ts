import { Server, ServerCredentials } from '@grpc/grpc-js';
import { expect, it, onTestFinished } from 'vitest';
import { REASONS, ServiceError } from '../src/errors.ts';
import { bindGrpc } from '../src/process/bind.ts';
import { callerOf, OK, startService } from './_service.ts';

/**
 * Starts a service, and a client of it without retries.
 * @param refusals number of calls that the service refuses first, like replicas of a version that does not admit this client
 */
async function startSkewed(refusals: number) {
  let received = 0;
  const service = await startService(async () => {
    if (received++ < refusals) throw new ServiceError('permission_denied', 'Not for you.', { reason: REASONS.peerNotAdmitted });
    return OK;
  });
  return { call: callerOf(service.address), received: () => received };
}

it('a call that no replica implements fails as unavailable, and does not count against the health of the target', async () => {
  const server = new Server();
  onTestFinished(() => server.forceShutdown());
  const call = callerOf(await bindGrpc(server, '127.0.0.1:0', ServerCredentials.createInsecure()));
  const notOffered = { kind: 'unavailable', reason: REASONS.notOffered, retryAfterSeconds: 1 };
  await Promise.all(Array.from({ length: 40 }, () => expect(call()).rejects.toMatchObject(notOffered)));
  await expect(call()).rejects.toMatchObject(notOffered);
});

it('a call that two replicas refuse to this client is sent to a third', async () => {
  const { call, received } = await startSkewed(2);
  await expect(call()).resolves.toMatchObject({ overallCode: 'OK' });
  expect(received()).toBe(3);
});

it('a call is sent to at most three replicas', async () => {
  const { call, received } = await startSkewed(4);
  await expect(call()).rejects.toMatchObject({ kind: 'unavailable', reason: REASONS.notOffered });
  expect(received()).toBe(3);
});
