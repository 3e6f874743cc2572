import { Server, ServerCredentials } from '@grpc/grpc-js';
import { expect, it, onTestFinished } from 'vitest';
import { REASONS, ServiceError } from '../src/errors.ts';
import { bindGrpc } from '../src/process/bind.ts';
import { callerOf, OK, startService } from './_service.ts';

/** A client of a service, which never repeats a call that may have been begun. @param refusals how many of the first calls a replica refuses before it begins them */
async function startSkewed(refusals: number) {
  let asked = 0;
  const service = await startService(async () => {
    if (asked++ < refusals) throw new ServiceError('permission_denied', 'Not for you.', { reason: REASONS.peerNotAdmitted });
    return OK;
  });
  return { call: callerOf(service.address), asked: () => asked };
}

it('a call that no replica has is unavailable for now, and leaves the target healthy for other calls', async () => {
  const server = new Server();
  onTestFinished(() => server.forceShutdown());
  const call = callerOf(await bindGrpc(server, '127.0.0.1:0', ServerCredentials.createInsecure()));
  const notOffered = { kind: 'unavailable', reason: REASONS.notOffered, retryAfterSeconds: 1 };
  await Promise.all(Array.from({ length: 40 }, () => expect(call()).rejects.toMatchObject(notOffered)));
  await expect(call()).rejects.toMatchObject(notOffered);
});

it('a call that the first replicas do not offer to this program is tried at others', async () => {
  const { call, asked } = await startSkewed(2);
  await expect(call()).resolves.toMatchObject({ overallCode: 'OK' });
  expect(asked()).toBe(3);
});

it('three replicas are asked, and no more', async () => {
  const { call, asked } = await startSkewed(4);
  await expect(call()).rejects.toMatchObject({ kind: 'unavailable', reason: REASONS.notOffered });
  expect(asked()).toBe(3);
});
