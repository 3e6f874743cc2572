import type { Mutation } from './mutation.ts';

const LIST_CALLS = 'services/calls/src/store/list-calls.ts';
const CALL_LIST_TEST = ['services/api-gateway/test/list-calls.test.ts'];
const CURSORS = 'services/tool-gateway/src/tools/cursor.ts';
const TOOL_LISTS_TEST = ['services/tool-gateway/test/cursors.test.ts'];

/** The order of lists, the bounds of their pages, and their cursors. */
export const lists: Mutation[] = [
  {
    name: 'GET /v1/calls lists calls of one time in the opposite order',
    file: LIST_CALLS,
    find: `'order by page.created_at desc, page.call_id desc'`,
    replace: `'order by page.created_at desc, page.call_id'`,
    tests: CALL_LIST_TEST,
  },
  {
    name: 'GET /v1/calls leaves out calls that were created at start_date',
    file: LIST_CALLS,
    find: 'from calls.calls c where organization = $1 and created_at >= $2',
    replace: 'from calls.calls c where organization = $1 and created_at > $2',
    tests: CALL_LIST_TEST,
  },
  {
    name: 'GET /v1/calls counts calls that were created at end_date',
    file: LIST_CALLS,
    find: 'created_at >= $6 and created_at < $3',
    replace: 'created_at >= $6 and created_at <= $3',
    tests: CALL_LIST_TEST,
  },
  {
    name: 'GET /v1/calls refuses the largest page',
    file: 'services/calls/src/handlers/list-organization-calls.ts',
    find: 'perPage > max)',
    replace: 'perPage >= max)',
    tests: CALL_LIST_TEST,
  },
  {
    name: 'GET /v1/calls accepts a per_page of 201',
    file: 'services/api-gateway/src/routes/list-calls.ts',
    find: 'wholeNumber(1, 200)',
    replace: 'wholeNumber(1, 201)',
    tests: ['services/api-gateway/test/list-query.test.ts'],
  },
  {
    name: 'list_calls has no next_cursor although more rows follow',
    file: 'services/calls/src/handlers/list-user-calls.ts',
    find: 'limit: limit + 1,',
    replace: 'limit,',
    tests: TOOL_LISTS_TEST,
  },
  {
    name: 'list_calls repeats the last row of a page on the next page',
    file: 'services/calls/src/store/list-user-calls.ts',
    find: '(c.recency, c.call_id) < (?::timestamptz, ?)',
    replace: '(c.recency, c.call_id) <= (?::timestamptz, ?)',
    tests: TOOL_LISTS_TEST,
  },
  {
    name: 'a cursor of a tool is accepted from another organization',
    file: CURSORS,
    find: '[tool, organization, userId, filters]',
    replace: '[tool, userId, filters]',
    tests: TOOL_LISTS_TEST,
  },
  {
    name: 'a cursor of a tool is accepted from another user',
    file: CURSORS,
    find: '[tool, organization, userId, filters]',
    replace: '[tool, organization, filters]',
    tests: TOOL_LISTS_TEST,
  },
  {
    name: 'a cursor of a tool is accepted with other filters',
    file: CURSORS,
    find: '[tool, organization, userId, filters]',
    replace: '[tool, organization, userId]',
    tests: TOOL_LISTS_TEST,
  },
];
