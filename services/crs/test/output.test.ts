import { expect, test } from 'vitest';
import { details, table } from '../src/output.ts';

test('a table has no borders, and no spaces at its right', () => {
  expect(
    table(
      ['name', 'on'],
      [
        ['Ann', true],
        ['', null],
      ],
    ),
  ).toBe('NAME  ON\nAnn   yes\n-     -');
  expect(
    details([
      ['name', 'Ann'],
      ['long name', 0],
    ]),
  ).toBe('name       Ann\nlong name  0');
});

test('columns are as wide as the terminal shows them', () => {
  expect(
    table(
      ['name', 'on'],
      [
        ['東京', true],
        ['Zoe\u0301', false],
      ],
    ),
  ).toBe('NAME  ON\n東京  yes\nZoe\u0301   no');
});

test('a long table takes time in proportion to its rows', () => {
  const rows = Array.from({ length: 100_000 }, (_, n) => [`organization-${n}`, `Organization ${n}`, true, null]);
  const started = performance.now();
  expect(table(['organization', 'name', 'on', 'of'], rows).split('\n')).toHaveLength(100_001);
  // Time that grows with the square of the rows is over an hour.
  expect(performance.now() - started).toBeLessThan(10_000);
});

test('an empty table prints None.', () => expect(table(['name'], [])).toBe('None.'));

test('control characters in values do not reach the terminal', () => {
  expect(table(['name'], [['a\u001b[31m\nb\u202Ec']])).toBe('NAME\na�[31m�b�c');
});
