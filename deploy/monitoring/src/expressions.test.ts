import { expect, test } from 'vitest';
import { readExpression, readScrape, unknowns, type Known } from './expressions.ts';

test('readExpression returns metrics, matchers and groups', () => {
  expect(
    readExpression(
      'sum by (a, b) (rate(m_total{x="1",y=~"2.*}\\\\d"}[5m] offset 1h)) / on (a) 3e4 * bare > 0 and max(n:o{}) or absent(p)',
    ),
  ).toEqual({
    grouped: ['a', 'b', 'a'],
    selectors: [
      {
        metric: 'm_total',
        matchers: [
          { label: 'x', operator: '=', value: '1' },
          { label: 'y', operator: '=~', value: '2.*}\\d' },
        ],
      },
      { metric: 'bare', matchers: [] },
      { metric: 'n:o', matchers: [] },
      { metric: 'p', matchers: [] },
    ],
  });
});

test('readExpression throws for text that is not PromQL', () => {
  expect(() => readExpression('sum by (a (m)')).toThrow('No PromQL at character');
});

test('unknowns lists the unknown metrics, labels and values of an expression', () => {
  const known: Known = new Map();
  readScrape('# TYPE m counter\nm{x="1",y="a b"} 3\nm{x="2"} 4 1700000000\nn 1\n', known);
  const problemsOf = (expression: string, shown: string[] = []) =>
    unknowns(expression, known, new Map([['r:s', ['slo']]]), shown);
  expect(problemsOf('sum by (x, job) (rate(m{x="2",y!="c",service="z"}[5m])) / r:s{slo="q"} + n', ['x'])).toEqual([]);
  expect(problemsOf('rate(o[5m])')).toEqual(['no metric o']);
  expect(problemsOf('m{z="1"}')).toEqual(['m has no label z']);
  expect(problemsOf('m{x=~"3|4"}')).toEqual(['no m has x=~"3|4"']);
  expect(problemsOf('m{x!~"1|2"}')).toEqual(['no m has x!~"1|2"']);
  expect(problemsOf('m{x="2",y="a b"}')).toEqual(['no m has x="2",y="a b"']);
  expect(problemsOf('sum by (z) (m)')).toEqual(['none of its metrics has a label z to group by']);
  expect(problemsOf('sum by (x) (m)', ['y'])).toEqual(['its results have no label y']);
  expect(problemsOf('1')).toEqual(['it asks for no metric']);
});
