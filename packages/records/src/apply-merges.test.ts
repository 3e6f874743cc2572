import { describe, expect, it } from 'vitest';
import { segmentsOf } from './apply-merges.ts';
import type { Merge } from './merge.ts';

const MIB = 1024 * 1024;
const merge = (id: string): Merge => ({ deleted: false, organization: 'acme', id, patch: Buffer.alloc(0), properties: [] });
const put = (id: string) => ({ id });

/** @param lines ids, with a star for a merge @returns the numbers of the lines of each segment */
function split(lines: string, lengths: Record<string, number> = {}): number[][] {
  const records = lines.split(' ').map((name) => (name.endsWith('*') ? merge(name.slice(0, -1)) : put(name)));
  const numbered = records.map((record, i) => ({ number: i + 1, record }));
  const segments = segmentsOf(numbered, ({ id }) => id, new Map(Object.entries(lengths)));
  return segments.map((segment) => segment.map(({ number }) => number));
}

describe('a batch is split', () => {
  it.each<[string, number[][]]>([
    ['a b a c', [[1, 2, 3, 4]]],
    ['a* b* c', [[1, 2, 3]]],
    ['a a*', [[1], [2]]],
    ['a* a b*', [[1, 2, 3]]],
    ['a* a*', [[1], [2]]],
    ['a* b a* b* a*', [[1, 2], [3, 4], [5]]],
  ])('before a merge of a record that occurs in the segment: %s', (lines, expected) => {
    expect(split(lines)).toEqual(expected);
  });

  it('before a merge with which the stored records would exceed 16 MiB', () => {
    expect(split('a* b*', { a: 8 * MIB, b: 8 * MIB })).toEqual([[1, 2]]);
    expect(split('a* b*', { a: 8 * MIB, b: 8 * MIB + 1 })).toEqual([[1], [2]]);
    expect(split('a* b* c*', { a: 20 * MIB, b: 1, c: 1 })).toEqual([[1], [2, 3]]);
  });
});
