import { once } from 'node:events';
import { constants, createServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { ChargeServiceService } from '@crs/proto/crs/ratelimit/v1/charges';
import { RateLimitServiceService } from '@crs/proto/envoy/service/ratelimit/v3/rls';
import { REASONS } from '../src/errors.ts';
import { client, type ClientOptions } from '../src/rpc/client.ts';

const cleanups: (() => unknown)[] = [];
afterEach(() => cleanups.splice(0).forEach((clean) => clean()));

/**
 * A server that begins each answer and cuts it off, as one does that closes a connection at the end of its time.
 * @param refused how many calls it refuses before, as one does for calls that come after that end
 */
async function startServer(refused = 0) {
  let begun = 0;
  const server = createServer().on('stream', (stream: ServerHttp2Stream) => {
    stream.on('error', () => {});
    if (refused-- > 0) return stream.close(constants.NGHTTP2_REFUSED_STREAM);
    begun++;
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
    stream.once('data', () => stream.close(constants.NGHTTP2_NO_ERROR));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  cleanups.push(() => server.close());
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, begun: () => begun };
}

const REQUEST = { domain: '', descriptors: [], hitsAddend: 1 };
/** More than HTTP/2 sends before the other end has read. */
const LONG_REQUEST = { ...REQUEST, domain: 'x'.repeat(4_000_000) };
const KINDS = {
  'by itself': (options: ClientOptions, request = REQUEST) => {
    const service = client(RateLimitServiceService, options);
    return { ask: () => service.shouldRateLimit(request), close: () => service.close() };
  },
  'on a line': (options: ClientOptions, request = REQUEST) => {
    const service = client(ChargeServiceService, options);
    return { ask: () => service.charge(request), close: () => service.close() };
  },
};

test.each([
  ['by itself', false, 1],
  ['by itself', true, 3],
  ['on a line', false, 1],
  ['on a line', true, 3],
] as const)('the target of a call %s that is cut off is not available; repeats: %s', async (kind, retry, times) => {
  const { address, begun } = await startServer();
  const { ask, close } = KINDS[kind]({ name: 'test', address, timeoutMs: 5_000, retry });
  cleanups.push(close);
  const failure: unknown = await ask().catch((error: unknown) => error);
  expect(failure).toMatchObject({
    kind: 'unavailable',
    message: 'The test service is not available.',
    cause: expect.objectContaining({ message: expect.stringContaining('Call ended without gRPC status') }),
  });
  expect((failure as Error).cause).toBeInstanceOf(Error);
  expect(begun()).toBe(times);
});

test.each(['by itself', 'on a line'] as const)('a call %s that is refused while it is sent is sent again', async (kind) => {
  const { address, begun } = await startServer(2);
  const { ask, close } = KINDS[kind]({ name: 'test', address, timeoutMs: 5_000, retry: false }, LONG_REQUEST);
  cleanups.push(close);
  await expect(ask()).rejects.toMatchObject({ kind: 'unavailable' });
  expect(begun()).toBe(1);
});

test.each(['by itself', 'on a line'] as const)(
  'a call %s that is always refused is one that no replica has begun',
  async (kind) => {
    const { address, begun } = await startServer(Infinity);
    const { ask, close } = KINDS[kind]({ name: 'test', address, timeoutMs: 5_000, retry: false }, LONG_REQUEST);
    cleanups.push(close);
    await expect(ask()).rejects.toMatchObject({ message: 'The test service is not available.', reason: REASONS.notBegun });
    expect(begun()).toBe(0);
  },
);
