import { sendJsonOnce } from '../http/send.ts';
import { isCallId, noSuchCall, putBody } from '../records/put-one-call.ts';
import type { Route } from '../route.ts';
import { CALL_CHANGE } from '../schema/record-examples.ts';
import { callChangeSchema, callPath, CALL_BODY_REFUSALS, patchCallResult } from '../schema/records.ts';

/** `PATCH /v1/calls/{call_id}` */
export const patchCall: Route = {
  method: 'patch',
  access: { rights: ['ingest'] },
  operationId: 'patchCall',
  tag: 'Records',
  summary: 'Change a call',
  description:
    'Changes the properties that the body has. Null empties a property, or sets its default; lists are replaced whole, and `expert` is merged property by property. Programs that own different properties can change the same call at the same time. Needs a key with the right `ingest`.',
  path: callPath,
  body: {
    name: 'CallChange',
    description: 'The properties that change, in at most 8 MiB of JSON. Unknown properties are refused.',
    schema: callChangeSchema,
    examples: { takeaways: { summary: 'Takeaways are approved', value: CALL_CHANGE } },
  },
  success: {
    status: 200,
    description: 'The call is `merged`, or `unchanged` because it had these properties already.',
    schema: patchCallResult,
    examples: { merged: { summary: 'Changed', value: { call_id: 'call_8kq2', result: 'merged' } } },
  },
  refusals: {
    ...CALL_BODY_REFUSALS,
    400: {
      when: 'The body or a field is invalid, or a field names a user or a project that the organization does not have; the message names the field.',
      message: 'rating: must be at most 5',
    },
    404: {
      when: 'The organization has no call with this id, or the key does not have the right `ingest`; the message says which.',
      message: 'There is no call with this id.',
    },
  },
  handle: (context, request, response) =>
    putBody(context, request, response, { merge: true, checkId: requireKnowable }, ({ accepted }, callId) => {
      const result = accepted > 0 ? 'merged' : 'unchanged';
      sendJsonOnce(request, response, [Buffer.from(JSON.stringify({ call_id: callId, result }))]);
    }),
};

/** @throws ServiceError not_found */
function requireKnowable(callId: string): void {
  if (!isCallId(callId)) throw noSuchCall();
}
