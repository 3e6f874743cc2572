import express, { type Request, type Response } from 'express';
import { Refusal } from '@crs/kit/http/refusal';

/** Reads whole bodies, as they are sent. It throws a Refusal for one that is too large (413), compressed (415) or cut off (400). */
export function bodyReader(maxBytes: number): (request: Request, response: Response) => Promise<Buffer> {
  const readBytes = express.raw({ type: () => true, limit: maxBytes, inflate: false });
  return async (request, response) => {
    await new Promise<void>((resolve, reject) => {
      readBytes(request, response, (error?: unknown) => (error === undefined ? resolve() : reject(toRefusal(error, maxBytes))));
    });
    const bytes: unknown = request.body;
    return Buffer.isBuffer(bytes) ? bytes : Buffer.alloc(0);
  };
}

function toRefusal(error: unknown, maxBytes: number): unknown {
  const status = error instanceof Error && 'status' in error ? error.status : undefined;
  if (status === 413) return new Refusal(413, 'bad_request', `The body is larger than ${maxBytes} bytes.`);
  if (status === 415) return new Refusal(415, 'bad_request', 'The body must not be compressed.');
  return status === 400 ? new Refusal(400, 'bad_request', 'The body did not arrive whole.') : error;
}
