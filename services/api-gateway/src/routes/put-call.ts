import { invalid } from '@crs/kit/errors';
import { missingRight } from '../http/key-access.ts';
import { sendJsonOnce } from '../http/send.ts';
import { isCallId, putBody } from '../records/put-one-call.ts';
import type { Route } from '../route.ts';
import { CALL_RECORD } from '../schema/record-examples.ts';
import { callPath, callRecordSchema, CALL_BODY_REFUSALS, putCallResult } from '../schema/records.ts';

const INVALID_ID = 'must be 1 to 128 of A-Z, a-z, 0-9, ".", "_", ":" and "-"';

/** `PUT /v1/calls/{call_id}` */
export const putCall: Route = {
  method: 'put',
  access: { rights: ['ingest'] },
  operationId: 'putCall',
  tag: 'Records',
  summary: 'Create or replace a call',
  description:
    'Stores a whole call under an id that you choose: what the body leaves out is empty afterwards, and lists are replaced. Repeating it is safe. Needs a key with the right `ingest`.',
  path: callPath,
  body: {
    name: 'CallRecord',
    description: 'The call, in at most 8 MiB of JSON. Unknown properties are refused.',
    schema: callRecordSchema,
    examples: { call: { summary: 'A call', value: CALL_RECORD }, minimal: { summary: 'With what is required', value: {} } },
  },
  success: {
    status: 200,
    description: 'There was a call with this id: it is `replaced`, or `unchanged` because it was stored like this already.',
    schema: putCallResult,
    examples: { replaced: { summary: 'Replaced', value: { call_id: 'call_8kq2', result: 'replaced' } } },
  },
  otherSuccess: {
    status: 201,
    description: 'The call is new.',
    schema: putCallResult,
    headers: ['Location'],
    examples: { created: { summary: 'Created', value: { call_id: 'call_8kq2', result: 'created' } } },
  },
  refusals: {
    ...CALL_BODY_REFUSALS,
    400: {
      when: 'The id, the body or a field is invalid, or a field names a user or a project that the organization does not have; the message names the field.',
      message: 'project_id: must be a project of this organization',
    },
    404: { when: 'The key does not have the right `ingest`.', message: missingRight(['ingest']) },
  },
  handle: (context, request, response) =>
    putBody(context, request, response, { merge: false, checkId: requireCallId }, ({ accepted, created }, callId) => {
      const result = created > 0 ? 'created' : accepted > 0 ? 'replaced' : 'unchanged';
      if (created > 0) response.status(201).set('Location', `/v1/calls/${callId}`);
      sendJsonOnce(request, response, [Buffer.from(JSON.stringify({ call_id: callId, result }))]);
    }),
};

/** @throws ServiceError invalid_argument */
function requireCallId(callId: string): void {
  if (!isCallId(callId)) throw invalid('call_id', INVALID_ID);
}
