import type { IncomingMessage } from 'node:http';
import { BODY_MS } from './listener.ts';
import { Refusal } from './refusal.ts';

/** The maximum size of a body in bytes, unless its route says otherwise. The largest realistic project has about 40 KB. */
export const MAX_BODY_BYTES = 64 * 1024;

export interface BodyLimits {
  maxBytes: number;
  /** How long the body may take to arrive, in milliseconds. */
  withinMs: number;
}

const DEFAULT_LIMITS: BodyLimits = { maxBytes: MAX_BODY_BYTES, withinMs: BODY_MS };

const compressed = new Refusal(415, 'bad_request', 'The body must not be compressed: leave Content-Encoding out.');
const incomplete = new Refusal(400, 'bad_request', 'The body did not arrive whole.');

export function bodyTooLarge(maxBytes: number): Refusal {
  return new Refusal(413, 'bad_request', `The body is larger than ${maxBytes} bytes.`);
}

function tooSlow(withinMs: number): Refusal {
  const seconds = Math.ceil(withinMs / 1_000);
  return new Refusal(408, 'bad_request', `The body did not arrive within ${seconds} s.`, { Connection: 'close' });
}

/** Refuses a body by the headers alone. @throws Refusal 415 if it is compressed; 413 if its `Content-Length` exceeds the limit */
export function checkBodyHeaders({ headers }: IncomingMessage, maxBytes: number): void {
  const { 'content-encoding': encoding = 'identity', 'content-length': declared = '0' } = headers;
  if (encoding.toLowerCase() !== 'identity') throw compressed;
  if (Number(declared) > maxBytes) throw bodyTooLarge(maxBytes);
}

/**
 * Reads a request's body. Call it before acquiring anything scarce, such as a slot, because a client may send slowly. Express's own parsers aren't
 * suitable: they wait forever for a slow body, and read a body that is too large to its end.
 * @throws Refusal 415 if the body is compressed; 413 if it is too large, without reading any of it if its `Content-Length` says so; 408 if it doesn't arrive
 * in time; 400 if the client disconnects, which only the log shows
 */
export async function readBody(request: IncomingMessage, { maxBytes, withinMs }: BodyLimits = DEFAULT_LIMITS): Promise<Buffer> {
  checkBodyHeaders(request, maxBytes);
  if (request.destroyed) throw incomplete;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(() => reject(tooSlow(withinMs)), withinMs);
  // Bytes are copied: a chunk of one byte would keep the 64 KiB that it arrived with.
  let body = Buffer.allocUnsafe(Number(request.headers['content-length'] ?? Math.min(maxBytes, MAX_BODY_BYTES)));
  let length = 0;
  const onData = (chunk: Buffer) => {
    const end = length + chunk.length;
    if (end > maxBytes) return reject(bodyTooLarge(maxBytes));
    if (end > body.length) body = Buffer.concat([body.subarray(0, length)], Math.min(maxBytes, Math.max(end, 2 * body.length)));
    chunk.copy(body, length);
    length = end;
  };
  request.on('data', onData);
  request.once('end', resolve);
  request.once('error', () => reject(incomplete));
  try {
    await promise;
    return body.subarray(0, length);
  } finally {
    clearTimeout(timer);
    // After a refusal, the rest is read and dropped.
    request.off('data', onData).resume();
  }
}
