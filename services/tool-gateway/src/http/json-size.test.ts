import { expect, it } from 'vitest';
import { sizeOfJson } from './json-size.ts';

const size = (text: string) => sizeOfJson(Buffer.from(text));

/** The reference implementation: counts the values of the parsed JSON. */
function counted(value: unknown): { values: number; depth: number } {
  if (typeof value !== 'object' || value === null) return { values: 1, depth: 0 };
  const inner = Object.values(value).map(counted);
  return {
    values: 1 + inner.reduce((sum, { values }) => sum + values, 0),
    depth: 1 + Math.max(0, ...inner.map(({ depth }) => depth)),
  };
}

it.each([
  '1',
  '"a,b[{"',
  '"\\"[,"',
  '"\\\\"',
  '[]',
  '[ ]',
  '{ }',
  '[1]',
  '[1,2]',
  '[[],{}]',
  '{"a":1,"b":[true,null,"],"]}',
  '{"{":{"[":[{"a":"\\\\\\""}]}}',
  ' { "a" : [ { } , [ ] ] } ',
])('counts as many values as the parsed text has: %s', (text) => {
  expect(size(text)).toEqual(counted(JSON.parse(text)));
});

it.each(['', '"', '"\\', ']]]', ',,,', '[[['])('does not throw for %j, which is not JSON', (text) => {
  expect(() => size(text)).not.toThrow();
});
