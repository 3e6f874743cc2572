import express, { type Request, type Response } from 'express';
import type { z } from 'zod';
import { invalid } from '@crs/kit/errors';
import { parseLine } from '@crs/kit/product/import-record';
import { Refusal } from '@crs/kit/http/refusal';

/** The largest body, in bytes. */
export const MAX_BODY_BYTES = 1024 * 1024;

const readBytes = express.raw({ type: () => true, limit: MAX_BODY_BYTES, inflate: false });

/**
 * The JSON body of a request by a schema: media type, then size, then the JSON and its fields.
 * @throws Refusal 415 or 413, ServiceError invalid_argument naming the field
 */
export async function readBody<S extends z.ZodType>(request: Request, response: Response, schema: S): Promise<z.output<S>> {
  if (!isJson(request.headers['content-type'])) {
    throw new Refusal(415, 'bad_request', 'The body must be JSON in UTF-8: send "Content-Type: application/json".');
  }
  await new Promise<void>((resolve, reject) => {
    readBytes(request, response, (error?: unknown) => (error === undefined ? resolve() : reject(toBodyRefusal(error))));
  });
  const bytes: unknown = request.body;
  const result = parseLine(schema, Buffer.isBuffer(bytes) ? bytes : Buffer.alloc(0));
  if (!('record' in result)) throw invalid(result.field === '' ? 'body' : result.field, result.reason);
  return result.record;
}

/** `application/json`, with no charset or that of JSON. */
function isJson(contentType: string | undefined): boolean {
  const [type, ...parameters] = (contentType ?? '').split(';').map((part) => part.trim().toLowerCase());
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice('charset='.length);
  return type === 'application/json' && (charset === undefined || charset.replaceAll('"', '') === 'utf-8');
}

function toBodyRefusal(error: unknown): unknown {
  const status = error instanceof Error && 'status' in error ? error.status : undefined;
  if (status === 413) return new Refusal(413, 'bad_request', `The body is larger than ${MAX_BODY_BYTES} bytes.`);
  if (status === 415) return new Refusal(415, 'bad_request', 'The body must not be compressed: leave Content-Encoding out.');
  if (status === 400) return new Refusal(400, 'bad_request', 'The body did not arrive whole.');
  return error;
}
