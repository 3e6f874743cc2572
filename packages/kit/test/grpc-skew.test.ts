import { Server, ServerCredentials } from '@grpc/grpc-js';
import { afterEach, expect, it } from 'vitest';
import { RateLimitServiceService } from '@crs/proto/envoy/service/ratelimit/v3/rls';
import { REASONS, ServiceError } from '../src/errors.ts';
import { createLogger } from '../src/process/log.ts';
import { client } from '../src/rpc/client.ts';
import { bind, rpc, serve } from '../src/rpc/server.ts';

const log = createLogger('test', { level: 'silent' });
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) await clean();
});

const REQUEST = { domain: '', descriptors: [], hitsAddend: 1 };

/** A client of a service that an earlier version doesn't offer to it. It never repeats a call that may have been begun. */
function connect(address: string) {
  const service = client(RateLimitServiceService, { name: 'test', address, timeoutMs: 5_000, retry: false });
  cleanups.push(() => service.close());
  return service;
}

/** @param refusals how many of the first calls a replica refuses before it begins them */
async function serveAfter(refusals: number) {
  let asked = 0;
  const shouldRateLimit = rpc({ anyone: true }, async () => {
    if (asked++ < refusals) throw new ServiceError('permission_denied', 'Not for you.', { reason: REASONS.peerNotAdmitted });
    return { overallCode: 'OK' as const, statuses: [] };
  });
  const services = [bind(RateLimitServiceService, ['api-gateway'], { shouldRateLimit })];
  const verify = () => Promise.reject(new Error('not asked'));
  const server = await serve({ name: 'test', address: '127.0.0.1:0', services, verify, log });
  cleanups.push(() => server.stop());
  return { service: connect(server.address), asked: () => asked };
}

it('a call that no replica has is unavailable for now, and leaves the target healthy for other calls', async () => {
  const server = new Server();
  cleanups.push(() => server.forceShutdown());
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  const service = connect(`127.0.0.1:${port}`);
  for (let n = 0; n < 40; n++)
    await expect(service.shouldRateLimit(REQUEST)).rejects.toMatchObject({
      kind: 'unavailable',
      reason: REASONS.notOffered,
      retryAfterSeconds: 1,
    });
});

it('a call that the first replicas do not offer to this program is tried at others', async () => {
  const { service, asked } = await serveAfter(2);
  await expect(service.shouldRateLimit(REQUEST)).resolves.toMatchObject({ overallCode: 'OK' });
  expect(asked()).toBe(3);
});

it('three replicas are asked, and no more', async () => {
  const { service, asked } = await serveAfter(4);
  await expect(service.shouldRateLimit(REQUEST)).rejects.toMatchObject({ kind: 'unavailable', reason: REASONS.notOffered });
  expect(asked()).toBe(3);
});
