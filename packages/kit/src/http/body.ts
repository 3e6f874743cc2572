import type { IncomingMessage } from 'node:http';
import { BODY_MS } from './listener.ts';
import { Refusal } from './refusal.ts';

/** The maximum size of a body in bytes. The largest realistic project has about 40 KB. */
export const MAX_BODY_BYTES = 64 * 1024;

const compressed = new Refusal(415, 'bad_request', 'The body must not be compressed: leave Content-Encoding out.');
const tooLarge = new Refusal(413, 'bad_request', `The body is larger than ${MAX_BODY_BYTES} bytes.`);
const tooSlow = new Refusal(408, 'bad_request', `The body did not arrive within ${BODY_MS / 1000} s.`, { Connection: 'close' });
const incomplete = new Refusal(400, 'bad_request', 'The body did not arrive whole.');

/**
 * Reads a request's body. Call it before acquiring anything scarce, such as a slot, because a client may send slowly. Express's own parsers aren't
 * suitable: they wait forever for a slow body, and read a body that is too large to its end.
 * @throws Refusal 415 if the body is compressed; 413 if it is too large, without reading any of it if its `Content-Length` says so; 408 if it doesn't arrive
 * in time; 400 if the client disconnects, which only the log shows
 */
export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const { 'content-encoding': encoding = 'identity', 'content-length': declared = '0' } = request.headers;
  if (encoding.toLowerCase() !== 'identity') throw compressed;
  if (Number(declared) > MAX_BODY_BYTES) throw tooLarge;
  if (request.destroyed) throw incomplete;
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const timer = setTimeout(reject, BODY_MS, tooSlow);
  const chunks: Buffer[] = [];
  let length = 0;
  request.on('data', (chunk: Buffer) => {
    length += chunk.length;
    if (length > MAX_BODY_BYTES) {
      chunks.length = 0;
      reject(tooLarge);
    } else chunks.push(chunk);
  });
  request.once('end', () => resolve(Buffer.concat(chunks)));
  request.once('error', () => reject(incomplete));
  return promise.finally(() => clearTimeout(timer));
}
