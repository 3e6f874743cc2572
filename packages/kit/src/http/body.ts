import type { IncomingMessage } from 'node:http';
import { BODY_MS } from './listener.ts';
import { Refusal } from './refusal.ts';

/** The largest body, in bytes: the largest sensible project has about 40 KB. */
export const MAX_BODY_BYTES = 64 * 1024;

const compressed = new Refusal(415, 'bad_request', 'The body must not be compressed: leave Content-Encoding out.');
const tooLarge = new Refusal(413, 'bad_request', `The body is larger than ${MAX_BODY_BYTES} bytes.`);
const tooSlow = new Refusal(408, 'bad_request', `The body did not arrive within ${BODY_MS / 1000} s.`, { Connection: 'close' });
const notWhole = new Refusal(400, 'bad_request', 'The body did not arrive whole.');

/**
 * Reads a body. The caller takes nothing scarce, such as a slot, before its body is there. Express's own parsers don't fit: they wait
 * for a slow body for ever, and for the end of a body that is too large.
 * @throws Refusal 415 for a compressed body; 413 for one that is too large, by its `Content-Length` before any of it is read; 408 for
 * one that isn't there in time; 400 for one that breaks off, which only the log shows
 */
export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const { 'content-encoding': encoding = 'identity', 'content-length': declared = '0' } = request.headers;
  if (encoding.toLowerCase() !== 'identity') throw compressed;
  if (Number(declared) > MAX_BODY_BYTES) throw tooLarge;
  if (request.destroyed) throw notWhole;
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
  request.once('error', () => reject(notWhole));
  return promise.finally(() => clearTimeout(timer));
}
