import { parse } from 'content-type';
import type { Request, Response } from 'express';
import type { z } from 'zod';
import { invalid } from '@crs/kit/errors';
import { readBody as readBytes } from '@crs/kit/http/body';
import { Refusal } from '@crs/kit/http/refusal';
import { parseLine } from '@crs/records/import-record';
import { authenticatedOf } from './authentication.ts';

/**
 * Reads the JSON body of a request, by a schema, and then waits for the request's slot. Checks the media type, then the size, then the JSON and its
 * fields.
 * @throws Refusal 415 or 413, ServiceError invalid_argument with the field's name
 */
export async function readBody<S extends z.ZodType>(request: Request, response: Response, schema: S): Promise<z.output<S>> {
  if (!isJson(request.headers['content-type'])) {
    throw new Refusal(415, 'bad_request', 'The body must be JSON in UTF-8: send "Content-Type: application/json".');
  }
  const bytes = await readBytes(request);
  await authenticatedOf(response)!.enter();
  const result = parseLine(schema, bytes);
  if (!('record' in result)) throw invalid(result.field === '' ? 'body' : result.field, result.reason);
  return result.record;
}

/** Whether a `Content-Type` is JSON, with the charset UTF-8 or without one. */
function isJson(contentType = ''): boolean {
  const { type, parameters } = parse(contentType);
  return type === 'application/json' && (parameters['charset'] ?? 'utf-8').toLowerCase() === 'utf-8';
}
