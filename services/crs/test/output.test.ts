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

test('a table of nothing says so', () => expect(table(['name'], [])).toBe('None.'));

test('what others wrote can not steer the terminal', () => {
  expect(table(['name'], [['a\u001b[31m\nb\u202Ec']])).toBe('NAME\na�[31m�b�c');
});
