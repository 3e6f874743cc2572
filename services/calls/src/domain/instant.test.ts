import { expect, test } from 'vitest';
import { formatInstant } from './instant.ts';

test.each(['0001-01-01T00:00:00.000Z', '1969-12-31T23:59:59.999Z', '2024-02-29T09:08:07.006Z', '9999-12-31T23:59:59.999Z'])(
  '%s',
  (text) => {
    expect(formatInstant(new Date(text))).toBe(text);
  },
);

test('it is what toISOString says', () => {
  const first = Date.parse('0001-01-01T00:00:00Z');
  const step = (Date.parse('9999-12-31T00:00:00Z') - first) / 9973;
  const dates = Array.from({ length: 9973 }, (_, i) => new Date(first + Math.floor(i * step)));
  expect(dates.map(formatInstant)).toEqual(dates.map((date) => date.toISOString()));
});
