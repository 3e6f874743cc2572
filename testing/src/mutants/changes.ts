import type { Mutation } from './mutation.ts';

const HANDLER = 'packages/records/src/feed/list-changes.ts';
const FEED_TEST = ['services/calls/test/changes.test.ts'];
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
];
