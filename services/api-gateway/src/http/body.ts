import { parse } from 'content-type';
import type { Request, Response } from 'express';
import type { z } from 'zod';
import { invalid } from '@crs/kit/errors';
import { checkBodyHeaders, MAX_BODY_BYTES, readBody as readBytes, type BodyLimits } from '@crs/kit/http/body';
import { Refusal } from '@crs/kit/http/refusal';
import { stateOf } from '@crs/kit/http/request';
import { parseLine } from '@crs/records/import-record';
import type { Context } from '../route.ts';
import { authenticatedOf } from './authentication.ts';

/**
 * Reads the JSON body of a request, by a schema, and then waits for the request's slot. Checks the media type, then the size, then the JSON and its
 * fields.
 * @throws Refusal 415 or 413, ServiceError invalid_argument with the field's name
 */
export async function readBody<S extends z.ZodType>(request: Request, response: Response, schema: S): Promise<z.output<S>> {
  requireType(request, JSON_BODY);
  const bytes = await readBytes(request);
  await authenticatedOf(response)!.enter();
  const result = parseLine(schema, bytes);
  if (!('record' in result)) throw invalid(result.field === '' ? 'body' : result.field, result.reason);
  return result.record;
}

export interface BodyType {
  mediaType: string;
  /** What the body must be, for people. */
  format: string;
}

export const JSON_BODY: BodyType = { mediaType: 'application/json', format: 'JSON' };
export const NDJSON_BODY: BodyType = { mediaType: 'application/x-ndjson', format: 'JSON lines' };

/**
 * Reads a body of records, and then waits for the request's slot. Few large bodies are in memory at once: such a request takes a slot of their own before
 * its body is read, and holds it while `work` runs. The body of a waiting request stays with the client. A small body is read first, as on other routes,
 * so that clients that send slowly don't delay it.
 * @throws Refusal 415 or 413, ServiceError resource_exhausted if there is no slot in time, and what `work` throws
 */
export async function withRecords(
  { bodies, smallBodies }: Context,
  request: Request,
  response: Response,
  { maxBytes, withinMs, ...type }: BodyLimits & BodyType,
  work: (body: Buffer) => Promise<void>,
): Promise<void> {
  requireType(request, type);
  checkBodyHeaders(request, maxBytes);
  const state = stateOf(response);
  const { credential, enter } = authenticatedOf(response)!;
  const read = () => readBytes(request, { maxBytes, withinMs: Math.min(withinMs, state.deadline - Date.now()) });
  const isSmall = Number(request.headers['content-length'] ?? Infinity) <= MAX_BODY_BYTES;
  const small = isSmall ? await read() : undefined;
  const release = await (isSmall ? smallBodies : bodies).acquire(credential.organizationId, state);
  try {
    const body = small ?? (await read());
    await enter();
    await work(body);
  } finally {
    release();
  }
}

/** Checks the `Content-Type`, which may have the charset UTF-8 or none. @throws Refusal 415 */
function requireType(request: Request, { mediaType, format }: BodyType): void {
  const { type, parameters } = parse(request.headers['content-type'] ?? '');
  if (type === mediaType && (parameters['charset'] ?? 'utf-8').toLowerCase() === 'utf-8') return;
  throw new Refusal(415, 'bad_request', `The body must be ${format} in UTF-8: send "Content-Type: ${mediaType}".`);
}
