import { z } from 'zod';
import { INCLUDE, parseQuery, withoutOf } from '../http/query.ts';
import { loggedCallId } from '@crs/kit/http/access-log';
import { callOf, stateOf } from '@crs/kit/http/request';
import { sendJson } from '../http/send.ts';
import type { Route } from '../route.ts';
import { call } from '../schema/calls.ts';
import { CALL, CALL_WITH_FEW_FIELDS } from '../schema/examples.ts';

const path = z.object({
  call_id: z.string().meta({ description: 'The `call_id` of a list item.', example: 'call_8kq2' }),
});

const query = z.object({
  include_verbatim: INCLUDE.include_verbatim.default(true),
  include_redacted: INCLUDE.include_redacted.default(true),
  include_clean: INCLUDE.include_clean.default(true),
});

/** `GET /v1/calls/{call_id}` */
export const getCall: Route = {
  method: 'get',
  access: { rights: ['read'] },
  operationId: 'getCall',
  tag: 'Calls',
  summary: 'Get a call',
  description:
    'One call in full. Its fields depend on the organization’s `allowed_fields`: a field that is not enabled is absent, and one that is enabled but not recorded is null or `[]`. Treat all fields as optional. The `include_` parameters can only exclude transcripts, never add one that is not enabled.',
  path,
  query,
  success: {
    status: 200,
    description: 'The call.',
    schema: call,
    examples: {
      call: { summary: 'With most fields enabled, anonymized', value: CALL },
      few_fields: { summary: 'With few fields enabled', value: CALL_WITH_FEW_FIELDS },
    },
  },
  refusals: {
    400: {
      when: 'A parameter is unknown, empty, repeated or invalid; the message names it.',
      message: 'include_verbatim: must be true or false',
    },
    404: {
      when: 'The organization has no call with this id; a malformed id gets the same response. Or the key does not have the right `read`.',
      message: 'There is no call with this id.',
    },
  },
  async handle({ calls }, request, response) {
    const { logFields } = stateOf(response);
    const callId = String(request.params['call_id']);
    logFields.call_id = loggedCallId(callId);
    const include = parseQuery(request.url, query);
    logFields.query = include;
    const { callJson } = await calls.getOrganizationCall(
      { callId: callId.toWellFormed(), ...withoutOf(include) },
      callOf(response),
    );
    await sendJson(request, response, [callJson]);
  },
};
