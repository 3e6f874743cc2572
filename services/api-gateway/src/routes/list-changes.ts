import { z } from 'zod';
import { callOf, stateOf } from '@crs/kit/http/request';
import { detailsAsked, EXPAND, parseQuery, wholeNumber } from '../http/query.ts';
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
    .describe('The `next_cursor` of the last answer. Absent: from the beginning, with every call there is.'),
  limit: wholeNumber(1, 1_000)
    .optional()
    .describe(
      'Changes on a page, at most. In digits, without leading zeros. Where absent 100; with `expand=detail` at most 50, and 25 where absent.',
    ),
  ...EXPAND,
});

/** `GET /v1/changes` */
export const listChanges: Route = {
  method: 'get',
  operationId: 'listChanges',
  tag: 'Calls',
  summary: 'List changes',
  description:
    'Fills a copy of all calls and keeps it whole. Begin without `cursor`: every call follows, and then what changes. Apply each page, keep its `next_cursor`, and send it as `cursor`, at once where `has_more` is true and later where it is false. Each call stands once, at its latest change, in the order in which changes were committed: nothing is missed, and no reaching back is needed. Pages of details end at 8 MiB, so only `has_more` tells the end. Deletions are told for 30 days.',
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
      when: 'A parameter is unknown, empty, repeated or not as described; the message names it. A `cursor` that can’t be used: begin again without it.',
      message: 'limit: must be a whole number from 1 to 1000, in digits',
    },
  },
  async handle({ calls }, request, response) {
    const { cursor, ...parameters } = parseQuery(request.url, query);
    const { logFields } = stateOf(response);
    const { size: limit, ...details } = detailsAsked(parameters, 'limit', DEFAULT_LIMIT);
    logFields.query = { ...parameters, limit, ...(cursor !== undefined && { cursor: true }) };
    const page = await calls.listOrganizationChanges({ cursor, limit, ...details }, callOf(response));
    Object.assign(logFields, { rows: page.changeCount, first_id: page.firstCallId, last_id: page.lastCallId });
    const end = `,"next_cursor":${JSON.stringify(page.nextCursor)},"has_more":${page.hasMore}}`;
    sendJsonOnce(request, response, [Buffer.from('{"data":'), page.changesJson, Buffer.from(end)]);
  },
};
