import { z } from 'zod';
import { callOf, stateOf } from '@crs/kit/http/request';
import { missingRight } from '../http/key-access.ts';
import { parseExpand, EXPAND, parseQuery, wholeNumber } from '../http/query.ts';
import { sendJsonOnce } from '../http/send.ts';
import type { Route } from '../route.ts';
import { changeList } from '../schema/changes.ts';
import { CHANGES, DETAILED_CHANGES } from '../schema/examples.ts';

const DEFAULT_LIMIT = 100;

const query = z.object({
  cursor: z
    .string()
    .max(1_000, 'must be a `next_cursor` of an earlier answer')
    .optional()
    .describe('The `next_cursor` of the previous response. Absent: from the beginning, with every call.'),
  limit: wholeNumber(1, 1_000)
    .optional()
    .describe(
      'The maximum number of changes on a page. Digits without leading zeros. Default: 100. With `expand=detail`, at most 50 and by default 25.',
    ),
  ...EXPAND,
});

/** `GET /v1/changes` */
export const listChanges: Route = {
  method: 'get',
  access: { rights: ['read'] },
  operationId: 'listChanges',
  tag: 'Calls',
  summary: 'List changes',
  description:
    'Creates a copy of all calls and keeps it complete. Begin without `cursor`: the pages contain every call, and then the changes. Apply each page, store its `next_cursor`, and send it as `cursor`: immediately if `has_more` is true, otherwise later. Each call appears once, at the position of its latest change, in the order in which changes were committed, so you miss nothing and need no overlap. Pages of details end at 8 MiB, so only `has_more` tells whether a page is the last one. Deletions are listed for 30 days.',
  query,
  success: {
    status: 200,
    untagged: true,
    description: 'A page of changes.',
    schema: changeList,
    examples: {
      changes: { summary: 'A changed and a deleted call', value: CHANGES },
      details: { summary: 'After the settings changed, with `expand=detail`', value: DETAILED_CHANGES },
    },
  },
  refusals: {
    400: {
      when: 'A parameter is unknown, empty, repeated or invalid; the message names it. If it is `cursor`, begin again without it.',
      message: 'limit: must be a whole number from 1 to 1000, in digits',
    },
    404: { when: 'The key does not have the right `read`.', message: missingRight(['read']) },
  },
  async handle({ calls }, request, response) {
    const { cursor, ...parameters } = parseQuery(request.url, query);
    const { logFields } = stateOf(response);
    const { size: limit, ...details } = parseExpand(parameters, 'limit', DEFAULT_LIMIT);
    logFields.query = { ...parameters, limit, ...(cursor !== undefined && { cursor: true }) };
    const page = await calls.listOrganizationChanges({ cursor, limit, ...details }, callOf(response));
    Object.assign(logFields, { rows: page.changeCount, first_id: page.firstCallId, last_id: page.lastCallId });
    const end = `,"next_cursor":${JSON.stringify(page.nextCursor)},"has_more":${page.hasMore}}`;
    sendJsonOnce(request, response, [Buffer.from('{"data":'), page.changesJson, Buffer.from(end)]);
  },
};
