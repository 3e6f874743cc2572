import type { Mutation } from './mutation.ts';

const HANDLER = 'packages/records/src/feed/list-changes.ts';
const FEED_TEST = ['services/calls/test/changes.test.ts'];
const TYPES_TEST = ['services/api-gateway/test/changes-of-types.test.ts'];
const LISTS_TEST = ['services/api-gateway/test/lists.test.ts'];
const CURSOR_TEST = ['services/calls/test/change-cursors.test.ts'];

/** The change feed. */
export const changes: Mutation[] = [
  {
    name: 'an import takes its positions in the feed before it commits',
    file: 'services/calls/src/handlers/import-records.ts',
    find: 'await feed.append(query, organization, moved.at(time), time);',
    replace: 'await importDb.transact(scope, (other) => feed.append(other, organization, moved.at(time), time));',
    tests: FEED_TEST,
  },
  {
    name: 'the next cursor skips the remaining changes',
    file: HANDLER,
    find: 'const last = hasMore ? Number(entries.at(-1)?.position ?? after) : Number(head);',
    replace: 'const last = Number(head);',
    tests: FEED_TEST,
  },
  {
    name: 'the feed leaves out calls that are deleted with their project',
    file: 'services/calls/src/handlers/erase.ts',
    find: 'await feed.append(query, organization, moved, now);',
    replace: '',
    tests: FEED_TEST,
  },
  {
    name: 'a cursor is accepted although deletions after it were pruned',
    file: HANDLER,
    find: ' || known < Number(feed.pruned)',
    replace: '',
    tests: CURSOR_TEST,
  },
  {
    name: 'the feed has no access.changed after a change of the fields',
    file: HANDLER,
    find: 'accessChangedAt: isChanged ? settings.changedAt : undefined,',
    replace: 'accessChangedAt: undefined,',
    tests: CURSOR_TEST,
  },
  {
    name: 'the feed leaves out entities that an import changes',
    file: 'services/entities/src/handlers/import-records.ts',
    find: 'await feed.append(query, organization, moved.at(time), time);',
    replace: '',
    tests: TYPES_TEST,
  },
  {
    name: 'the feed leaves out a project that is created by REST',
    file: 'services/projects/src/handlers/create-project.ts',
    find: 'await feed.append(query, organization, [{ recordId: projectId, changedAt: createdAt, deleted: false }], new Date());',
    replace: '',
    tests: TYPES_TEST,
  },
  {
    name: 'a cursor of changes is accepted with other types',
    file: 'packages/records/src/feed/cursors.ts',
    find: 'return `${this.#organization} ${types}`;',
    replace: 'return types && this.#organization;',
    tests: TYPES_TEST,
  },
  {
    name: 'a page of changes has parts that are rendered with different settings',
    file: 'services/api-gateway/src/changes/read-page.ts',
    find: 'if (parts.every((part) => part.settings === settings)) return join(parts);',
    replace: 'return join(parts);',
    tests: ['services/api-gateway/src/changes/read-page.test.ts'],
  },
  {
    name: 'a page of details of several types is longer than 8 MiB',
    file: 'services/api-gateway/src/changes/read-page.ts',
    find: 'maxDetailBytes: bytes === 0 ? undefined : Math.max(0, MAX_DETAIL_BYTES - bytes),',
    replace: 'maxDetailBytes: bytes === 0 ? undefined : MAX_DETAIL_BYTES,',
    tests: TYPES_TEST,
  },
  {
    name: 'a cursor of a list is accepted although it was changed',
    file: 'packages/records/src/feed/cursors.ts',
    find: 'if (!timingSafeEqual(bytes.subarray(0, MAC_BYTES), this.#macOf(plain))) return undefined;',
    replace: 'timingSafeEqual(bytes.subarray(0, MAC_BYTES), this.#macOf(plain));',
    tests: LISTS_TEST,
  },
  {
    name: 'GET /v1/entities shows texts to organizations that may not see summaries',
    file: 'services/entities/src/handlers/list-item.ts',
    find: '...(allowedFields.includes(TEXTS) && { description, overview }),',
    replace: '...(allowedFields.length > 0 && { description, overview }),',
    tests: LISTS_TEST,
  },
];
