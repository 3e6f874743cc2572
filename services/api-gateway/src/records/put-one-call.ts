import type { Request, Response } from 'express';
import { invalid, notFound, REASONS, ServiceError } from '@crs/kit/errors';
import { loggedCallId } from '@crs/kit/http/access-log';
import { BODY_MS } from '@crs/kit/http/listener';
import { stateOf } from '@crs/kit/http/request';
import { CALL_ID } from '@crs/kit/text';
import { MAX_LINE_BYTES } from '@crs/records/import-record';
import type { LineEnvelope } from '@crs/records/line-envelope';
import { authenticatedOf } from '../http/authentication.ts';
import { JSON_BODY, withRecords } from '../http/body.ts';
import { NO_PARAMETERS, parseQuery } from '../http/query.ts';
import type { Context } from '../route.ts';
import { putRuns, type PutResult } from './put-runs.ts';
import { readEnvelope, withProperties, type LineError } from './route-lines.ts';

/** Properties of a line that the path and the method of the request determine. */
const DETERMINED = ['type', 'organization', 'id', 'deleted', 'merge'];

const LIMITS = { ...JSON_BODY, maxBytes: MAX_LINE_BYTES, withinMs: BODY_MS };

/** Returns the id of the call in the path. */
export function callIdOf(request: Request, response: Response): string {
  const callId = String(request.params['call_id']);
  stateOf(response).logFields.call_id = loggedCallId(callId);
  return callId;
}

/** An id that no call can have gets the same response as an unknown one. */
export function noSuchCall(): Error {
  return notFound('There is no call with this id.');
}

/**
 * Stores a call whose properties are the body.
 * @param merge whether the body only has what changes
 * @param checkId throws if the call id isn't one that a call can have
 */
export async function putBody(
  context: Context,
  request: Request,
  response: Response,
  { merge, checkId }: { merge: boolean; checkId: (callId: string) => void },
  respond: (result: PutResult, callId: string) => void,
): Promise<void> {
  const callId = callIdOf(request, response);
  await withRecords(context, request, response, LIMITS, async (body) => {
    parseQuery(request.url, NO_PARAMETERS);
    const parsed = await readEnvelope(body);
    if ('reason' in parsed) throw invalid('body', parsed.reason);
    const determined = parsed.record.names.find((name) => DETERMINED.includes(name));
    if (determined !== undefined) throw invalid(determined, 'must be absent: the path and the method of the request say it');
    checkId(callId);
    const properties = propertiesOf(callId, response, { ...(merge && { merge }) });
    const bytes =
      parsed.record.names.length > 0 ? Buffer.concat(withProperties(body, properties)) : Buffer.from(JSON.stringify(properties));
    const result = await putLine(context, response, bytes, properties);
    const [error] = result.errors;
    if (merge && error?.field === 'id') throw noSuchCall();
    if (error) throw refusalOf(result, error, 'body');
    respond(result, callId);
  });
}

/** Deletes a call. @throws ServiceError not_found if there is none, failed_precondition if a legal hold keeps it */
export async function deleteOne(context: Context, response: Response, callId: string): Promise<void> {
  const properties = propertiesOf(callId, response, { deleted: true });
  const result = await putLine(context, response, Buffer.from(JSON.stringify(properties)), properties);
  const [error] = result.errors;
  if (error) throw refusalOf(result, error, 'call_id');
  if (result.accepted === 0) throw noSuchCall();
}

/** @param whole name of what the line is made from, for an error that names no field */
function refusalOf({ holdId }: PutResult, { field, reason }: LineError, whole: string): Error {
  if (holdId === undefined) return invalid(field ?? whole, reason);
  const message = field === 'deleted' ? `The legal hold ${holdId} keeps the call from being deleted.` : `${field}: ${reason}`;
  return new ServiceError('failed_precondition', message, { reason: REASONS.legalHold });
}

export function isCallId(callId: string): boolean {
  return CALL_ID.test(callId);
}

function propertiesOf(id: string, response: Response, more: object) {
  return { type: 'call', organization: authenticatedOf(response)!.credential.organizationId, id, ...more };
}

function putLine(context: Context, response: Response, bytes: Buffer, properties: ReturnType<typeof propertiesOf>) {
  const envelope = properties as unknown as LineEnvelope;
  return putRuns(context, response, [{ number: 1, type: 'call', envelope, bytes }], { abort: true, check: false });
}
