import type { Mutation } from './mutation.ts';

const BATCH = 'packages/records/src/import-batch.ts';
const CALLS_BATCH_TEST = ['services/calls/test/import-batches.test.ts'];
const RECORD_TEST = ['services/calls/src/domain/call-record.test.ts'];
const LINE_TEST = ['packages/records/src/import-record.test.ts'];

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
    find: 'if (json.length > MAX_LINE_BYTES) return TOO_LONG;',
    replace: '',
    tests: CALLS_BATCH_TEST,
  },
  {
    name: 'a line is stored that names another organization than the operator token',
    file: BATCH,
    find: 'result.record.organization !== organization',
    replace: `result.record.organization === ''`,
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
    name: 'a rating of 0 is accepted',
    file: 'services/calls/src/domain/columns.ts',
    find: 'z.number().min(1).max(5)',
    replace: 'z.number().min(0).max(5)',
    tests: RECORD_TEST,
  },
  {
    name: 'a text with a NUL character is accepted',
    file: 'packages/kit/src/text.ts',
    find: `if (text.includes('\\0')) return 'must not contain the NUL character';`,
    replace: '',
    tests: LINE_TEST,
  },
  {
    name: 'a line may have millions of values',
    file: 'packages/records/src/import-record.ts',
    find: 'if (hasTooManyValues(bytes)) return',
    replace: 'if (hasTooManyValues(bytes.subarray(0, 1))) return',
    tests: LINE_TEST,
  },
  {
    name: 'a call that is imported again counts as changed',
    file: 'services/calls/src/domain/changes.ts',
    find: 'if (now?.recordHash.equals(recordHash)) return false;',
    replace: '',
    tests: ['services/calls/test/round-trip.test.ts'],
  },
  {
    name: 'the totals by day count a replaced call twice',
    file: 'services/calls/src/domain/changes.ts',
    find: 'if (before) count(changes.days, before, -1);',
    replace: 'if (before && !now) count(changes.days, before, -1);',
    tests: ['services/calls/test/import-model.test.ts'],
  },
  {
    name: 'a call is stored that names a project of another organization',
    file: 'services/calls/src/handlers/import-records.ts',
    find: 'if (projectId !== null && !projects.has(projectId)) return',
    replace: 'if (projectId !== null && !projects) return',
    tests: ['services/calls/test/bad-lines.test.ts'],
  },
];
