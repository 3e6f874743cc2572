import { NO_PARAMETERS, parseQuery } from '../http/query.ts';
import { chargeDeletions } from '../records/charge-deletions.ts';
import { callIdOf, deleteOne, isCallId, noSuchCall } from '../records/put-one-call.ts';
import type { Route } from '../route.ts';
import { callPath } from '../schema/records.ts';

/** `DELETE /v1/calls/{call_id}` */
export const deleteCall: Route = {
  method: 'delete',
  access: { rights: ['delete'] },
  operationId: 'deleteCall',
  tag: 'Records',
  summary: 'Delete a call',
  description:
    'Deletes a call with its notes, questions and answers, and transcripts. This cannot be undone. It counts as one deletion of the hour. Needs a key with the right `delete`.',
  path: callPath,
  success: { status: 204, description: 'The call is deleted.' },
  refusals: {
    400: { when: 'The request has a query; this path takes none.', message: "page: isn't a parameter here. Allowed: none" },
    404: {
      when: 'The organization has no call with this id, or the key does not have the right `delete`; the message says which.',
      message: 'There is no call with this id.',
    },
    409: {
      when: 'A legal hold keeps the call; the message has its id.',
      message: 'The legal hold 0f2d7c1e-4f0e-4a77-9a38-5d1f6f3f6a10 keeps the call from being deleted.',
    },
  },
  async handle(context, request, response) {
    const callId = callIdOf(request, response);
    parseQuery(request.url, NO_PARAMETERS);
    if (!isCallId(callId)) throw noSuchCall();
    await chargeDeletions(context, response, 1);
    await deleteOne(context, response, callId);
    response.status(204).end();
  },
};
