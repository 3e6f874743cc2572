import { z } from 'zod';
import { callOf, stateOf } from '@crs/kit/http/request';
import { readPage, TYPES, type ChangesPage, type RecordType } from '../changes/read-page.ts';
import { missingRight, requireAccess } from '../http/key-access.ts';
import { cursor, DEFAULT_LIMIT, EXPAND, limit, parseExpand, parseQuery } from '../http/query.ts';
import { sendJsonOnce } from '../http/send.ts';
import type { Route } from '../route.ts';
import { changeList } from '../schema/changes.ts';
import { CHANGES, CHANGES_OF_TYPES, DETAILED_CHANGES } from '../schema/examples.ts';

const DEFAULT_TYPES: RecordType[] = ['call'];
const INVALID_TYPES = `must be one or more of ${TYPES.join(', ')}, each once, separated by commas`;

const types = z
  .string()
  .transform((text, context): RecordType[] => {
    const given = text.split(',');
    const known = TYPES.filter((type) => given.includes(type));
    if (known.length === given.length) return known;
    context.addIssue(INVALID_TYPES);
    return z.NEVER;
  })
  .meta({
    wire: { type: 'array', items: { type: 'string', enum: TYPES }, minItems: 1, uniqueItems: true },
  });

const query = z.object({
  cursor: cursor.describe('The `next_cursor` of the previous response. Absent: from the beginning, with every record.'),
  limit: limit.describe(
    'The maximum number of changes on a page. Digits without leading zeros. Default: 100. With `expand=detail`, at most 50 and by default 25.',
  ),
  types: types
    .optional()
    .describe(
      'The kinds of records to follow, separated by commas. Default: `call`. `project` needs the write surface. A cursor works only with the types that it began with.',
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
    'Creates a copy of all calls, and with `types` also of projects and entities, and keeps it complete. Begin without `cursor`: the pages contain every record, and then the changes. Apply each page, store its `next_cursor`, and send it as `cursor`: immediately if `has_more` is true, otherwise later. Each record appears once, at the position of its latest change, in the order in which changes were committed, so you miss nothing and need no overlap. Changes of different types have no common order. Pages of details end at 8 MiB, so only `has_more` tells whether a page is the last one. Deletions are listed for 30 days.',
  query,
  success: {
    status: 200,
    untagged: true,
    description: 'A page of changes.',
    schema: changeList,
    examples: {
      changes: { summary: 'A changed and a deleted call', value: CHANGES },
      details: { summary: 'After the settings changed, with `expand=detail`', value: DETAILED_CHANGES },
      types: { summary: 'With `types=call,project,entity` and `expand=detail`', value: CHANGES_OF_TYPES },
    },
  },
  refusals: {
    400: {
      when: 'A parameter is unknown, empty, repeated or invalid; the message names it. If it is `cursor`, begin again without it.',
      message: 'limit: must be a whole number from 1 to 1000, in digits',
    },
    404: {
      when: 'The key does not have the right `read`, or `types` has `project` and the organization is not enabled for the write surface.',
      message: missingRight(['read']),
    },
  },
  async handle({ calls, projects, entities }, request, response) {
    const { cursor: from, types: given, ...parameters } = parseQuery(request.url, query);
    const { logFields } = stateOf(response);
    const { size, ...details } = parseExpand(parameters, 'limit', DEFAULT_LIMIT);
    logFields.query = {
      ...parameters,
      ...(given && { types: given.join(',') }),
      limit: size,
      ...(from !== undefined && { cursor: true }),
    };
    const followed = given ?? DEFAULT_TYPES;
    if (followed.includes('project')) requireAccess(response, { rights: ['read'], writeSurface: true });
    const feeds = { call: calls, project: projects, entity: entities };
    const page = await readPage(feeds, { types: followed, cursor: from, limit: size, ...details }, callOf(response));
    Object.assign(logFields, { rows: page.changeCount, first_id: page.firstId, last_id: page.lastId });
    const end = `,"next_cursor":${JSON.stringify(page.nextCursor)},"has_more":${page.hasMore}}`;
    sendJsonOnce(request, response, [Buffer.from('{"data":'), ...renderData(page), Buffer.from(end)]);
  },
};

/** Joins the arrays without copying them, because they may be large. */
function renderData({ arrays, accessChangedAt }: Pick<ChangesPage, 'arrays' | 'accessChangedAt'>): Buffer[] {
  const access = accessChangedAt && Buffer.from(JSON.stringify([renderAccessChanged(accessChangedAt)]));
  const filled = [...(access ? [access] : []), ...arrays].filter(({ length }) => length > EMPTY_ARRAY_BYTES);
  const items = filled.flatMap((array, i) => [...(i > 0 ? [Buffer.from(',')] : []), array.subarray(1, -1)]);
  return [Buffer.from('['), ...items, Buffer.from(']')];
}

const EMPTY_ARRAY_BYTES = 2;

function renderAccessChanged(at: Date) {
  return { type: 'access.changed', call_id: null, changed_at: at.toISOString() };
}
