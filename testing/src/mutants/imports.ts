import type { Mutation } from './mutation.ts';

const BATCH = 'packages/records/src/import-batch.ts';
const CALLS_BATCH_TEST = ['services/calls/test/import-batches.test.ts'];
const RECORD_TEST = ['services/calls/src/domain/call-record.test.ts'];

/** Imports: what they refuse, and what they take for unchanged. */
export const imports: Mutation[] = [
  {
    name: 'a batch may have 1,001 lines',
    file: BATCH,
    find: 'lines.length > MAX_LINES ||',
    replace: 'lines.length > MAX_LINES + 1 ||',
    tests: CALLS_BATCH_TEST,
  },
  {
    name: 'a line may be longer than 8 MiB',
    file: BATCH,
    find: 'if (json.length > MAX_LINE_BYTES + (rights ? ADDED_TO_LINE : 0)) return TOO_LONG;',
    replace: '',
    tests: CALLS_BATCH_TEST,
  },
  {
    name: 'a line is stored that names another organization than the operator token',
    file: BATCH,
    find: 'if (record.organization !== organization) return WRONG_ORGANIZATION;',
    replace: '',
    tests: ['services/auth/test/import-batches.test.ts'],
  },
  {
    name: 'a text of the longest length is refused',
    file: 'packages/records/src/import-record.ts',
    find: 'length >= min && length <= max',
    replace: 'length >= min && length < max',
    tests: RECORD_TEST,
  },
  {
    name: 'a call that is imported again counts as changed',
    file: 'services/calls/src/domain/changes.ts',
    find: 'if (now?.recordHash.equals(recordHash)) return false;',
    replace: '',
    tests: ['services/calls/test/round-trip.test.ts'],
  },
  {
    name: 'a call is stored that names a project of another organization',
    file: 'services/calls/src/handlers/resolve-references.ts',
    find: 'if (projectId !== null && !projects.has(projectId)) return',
    replace: 'if (projectId !== null && !projects) return',
    tests: ['services/calls/test/bad-lines.test.ts'],
  },
  {
    name: 'a key without the right ingest stores records',
    file: BATCH,
    find: `return rights?.includes('ingest') === false ? needsRight('', 'ingest') : undefined;`,
    replace: 'return undefined;',
    tests: ['services/calls/test/records.test.ts'],
  },
  {
    name: 'a refused line of a batch that must be whole is left out, and the others are stored',
    file: BATCH,
    find: 'return abort && errors.length > 0;',
    replace: 'return false;',
    tests: ['services/calls/test/records.test.ts'],
  },
  {
    name: 'two merges of one call in a batch start from the same stored call',
    file: 'packages/records/src/apply-merges.ts',
    find: '(ids.has(id) || (bytes > 0 && bytes + length > MAX_STORED_BYTES))',
    replace: '(bytes > 0 && bytes + length > MAX_STORED_BYTES)',
    tests: ['services/calls/test/merge.test.ts'],
  },
];
