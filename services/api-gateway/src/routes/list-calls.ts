import { z } from 'zod';
import { invalid } from '@crs/kit/errors';
import { missingRight } from '../http/key-access.ts';
import { parseExpand, EXPAND, timestamp, parseQuery, wholeNumber } from '../http/query.ts';
import { callOf, stateOf } from '@crs/kit/http/request';
import { sendJson } from '../http/send.ts';
import type { Route } from '../route.ts';
import { callPage } from '../schema/calls.ts';
import { CALL_DETAIL_LIST, CALL_LIST, EMPTY_CALL_LIST } from '../schema/examples.ts';

const DEFAULT_PER_PAGE = 50;

const query = z.object({
  start_date: timestamp.meta({
    description: 'Calls created at this time or later. RFC 3339 with `Z` or an offset; write `+` as `%2B`.',
    example: '2026-01-01T00:00:00Z',
  }),
  end_date: timestamp.meta({
    description:
      'Calls created before this time. It is exclusive, so that adjacent ranges neither overlap nor leave gaps. Must be later than `start_date`.',
    example: '2027-01-01T00:00:00Z',
  }),
  updated_since: timestamp
    .optional()
    .describe(
      'Only calls of the range whose detail has changed at this time or later. When polling, set it to 60 s before your last poll.',
    ),
  page: wholeNumber(1, 2_147_483_647)
    .default(1)
    .describe('The number of the page; the first is 1. Digits without leading zeros.'),
  per_page: wholeNumber(1, 200)
    .optional()
    .describe('Calls on a page. Digits without leading zeros. Default: 50. With `expand=detail`, at most 50 and by default 25.'),
  ...EXPAND,
});

/** `GET /v1/calls` */
export const listCalls: Route = {
  method: 'get',
  access: { rights: ['read'] },
  operationId: 'listCalls',
  tag: 'Calls',
  summary: 'List calls',
  description:
    'The calls created in a range of time, newest first (by `created_at`, then `call_id`). To read all of them, request one page after another until `page` equals `total_pages`. A page past the last one is empty. With `expand=detail` each item is a call in full, which saves a request per call. A page of details must be at most 8 MiB, unless it is a single call: a request for a larger one is refused, and the message names a smaller `per_page`.',
  query,
  success: {
    status: 200,
    description: 'A page of calls.',
    schema: callPage,
    examples: {
      calls: { summary: 'Two calls', value: CALL_LIST },
      details: { summary: 'A call in full, with `expand=detail`', value: CALL_DETAIL_LIST },
      none: { summary: 'None in this range', value: EMPTY_CALL_LIST },
    },
  },
  refusals: {
    400: {
      when: 'A parameter is missing, unknown, empty, repeated or invalid; the message names it.',
      message: 'per_page: must be a whole number from 1 to 200, in digits',
    },
    404: { when: 'The key does not have the right `read`.', message: missingRight(['read']) },
  },
  async handle({ calls }, request, response) {
    const parameters = parseQuery(request.url, query);
    const { start_date: start, end_date: end, updated_since: updatedSince, page } = parameters;
    const { logFields } = stateOf(response);
    const { size: perPage, ...details } = parseExpand(parameters, 'per_page', DEFAULT_PER_PAGE);
    logFields.query = { ...parameters, per_page: perPage };
    if (start >= end) throw invalid('start_date', 'must be before end_date, which is exclusive');
    const { itemsJson, totalItems, itemCount, firstCallId, lastCallId } = await calls.listOrganizationCalls(
      { start, end, updatedSince, page, perPage, ...details },
      callOf(response),
    );
    Object.assign(logFields, { rows: itemCount, first_id: firstCallId, last_id: lastCallId });
    const pagination = {
      page,
      per_page: perPage,
      total_items: totalItems,
      total_pages: Math.max(1, Math.ceil(totalItems / perPage)),
    };
    await sendJson(request, response, [
      Buffer.from('{"data":'),
      itemsJson,
      Buffer.from(`,"pagination":${JSON.stringify(pagination)}}`),
    ]);
  },
};
