import { once } from 'node:events';
import { constants, createServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { callerOf } from './_service.ts';

/**
 * A server that begins each response and cuts it off, like a server that closes a connection after its maximum age.
 * @param refused number of calls to refuse first, like a server does with calls that arrive after it sent GOAWAY
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
  onTestFinished(() => void server.close());
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, begun: () => begun };
}

test.each([false, true])(
  'a call that is cut off after its headers fails as unavailable and is not repeated; retry: %s',
  async (retry) => {
    const { address, begun } = await startServer();
    const call = callerOf(address, { retry });
    const failure: unknown = await call().catch((error: unknown) => error);
    expect(failure).toMatchObject({
      kind: 'unavailable',
      message: 'The test service is not available.',
      cause: expect.objectContaining({ message: expect.stringContaining('Call ended without gRPC status') }),
    });
    expect((failure as Error).cause).toBeInstanceOf(Error);
    expect(begun()).toBe(1);
  },
);

test('a call that the server refused unprocessed is sent again, even if it must not be retried', async () => {
  const { address, begun } = await startServer(1);
  const call = callerOf(address);
  // `begun` doesn't count the refused attempt. The second attempt begins, and is then cut off.
  await expect(call()).rejects.toMatchObject({ kind: 'unavailable' });
  expect(begun()).toBe(1);
});
