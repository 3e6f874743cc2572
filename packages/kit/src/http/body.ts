import express, { type Request, type Response } from 'express';
import { Refusal } from './refusal.ts';

/**
 * A reader of whole bodies of at most `maxBytes`. It throws a Refusal for a body that is too large (413), compressed (415) or cut off
 * (400).
 */
export function bodyReader(maxBytes: number): (request: Request, response: Response) => Promise<Buffer> {
  const readBytes = express.raw({ type: () => true, limit: maxBytes, inflate: false });
  const refusals = new Map<unknown, Refusal>([
    [413, new Refusal(413, 'bad_request', `The body is larger than ${maxBytes} bytes.`)],
    [415, new Refusal(415, 'bad_request', 'The body must not be compressed: leave Content-Encoding out.')],
    [400, new Refusal(400, 'bad_request', 'The body did not arrive whole.')],
  ]);
  return async (request, response) => {
    await new Promise<void>((resolve, reject) => {
      readBytes(request, response, (error?: { status?: unknown }) =>
        error === undefined ? resolve() : reject(refusals.get(error.status) ?? error),
      );
    });
    const bytes: unknown = request.body;
    return Buffer.isBuffer(bytes) ? bytes : Buffer.alloc(0);
  };
}
