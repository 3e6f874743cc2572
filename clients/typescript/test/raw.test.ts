import { expect, it } from 'vitest';
import { rawMembers } from '../src/raw.ts';

const rawCalls = (text: string) => rawMembers(text, () => 'call');

it.each([
  ['numbers as they were sent', '{"a":1.50,"b":12345678901234567890,"c":-1E+2}'],
  ['quotes, backslashes and brackets in texts', String.raw`{"a":"}]\"{[\\","b\\":"\\\\\"","":"\u007d"}`],
  ['white space', '{ "a" :\t[ 1 , 2 ,\r\n{ } ] }'],
  ['nested objects with the same keys', '{"data":[{"call":{"call":1}}],"call":null}'],
  ['an empty object', '{}'],
  ['a text', '"call"'],
  ['a number', '17'],
  ['null', 'null'],
])('rawMembers returns the source text of a call with %s', (_name, call) => {
  const pages = [
    `{"data":[{"call":${call}},{"type":"x"},{"type":"x","call":${call},"z":[]}],"has_more":false}`,
    `\n{ "next" : {"data":[{"call":0}]} , "data" : [\t{ "x":"call", "c\\u0061ll" :  ${call} } , {} ,{"call":${call}}\n] }`,
  ];
  for (const page of pages) {
    JSON.parse(page);
    expect(rawCalls(page)).toEqual([call, undefined, call]);
  }
});

it('the last of repeated keys counts, as in JSON.parse', () => {
  expect(rawCalls('{"data":[{"call":0}],"data":[{"call":1,"call":2}]}')).toEqual(['2']);
});

it('each object has its own member', () => {
  const page = '{"data":[{"entity":1,"call":2},{"call":3.0},{"project":4}]}';
  expect(rawMembers(page, (index) => ['entity', 'call', 'entity'][index]!)).toEqual(['1', '3.0', undefined]);
});

it('a page without changes has no calls', () => {
  expect(rawCalls('{"data":[]}')).toEqual([]);
  expect(rawCalls('{}')).toEqual([]);
});

it('rawMembers takes time proportional to the size of the page', async () => {
  const page = (calls: number) =>
    `{"data":[${Array.from({ length: calls }, () => `{"call":"${'\\\\'.repeat(5_000)}"}`).join()}]}`;
  const [small, large] = [page(100), page(800)];
  const best = { small: Infinity, large: Infinity };
  const took = (text: string) => {
    const began = performance.now();
    rawCalls(text);
    return performance.now() - began;
  };
  // Load only ever adds to a duration, so the shortest of several rounds approaches that of an idle machine.
  const ratio = () => {
    best.small = Math.min(best.small, took(small));
    best.large = Math.min(best.large, took(large));
    return best.large / best.small;
  };
  // Eight times the size; a quadratic function would take 64 times as long.
  await expect.poll(ratio, { timeout: 10_000 }).toBeLessThan(24);
});
