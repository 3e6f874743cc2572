import { randomFrom } from '@crs/testing/random';
import { expect, it } from 'vitest';
import { compareLists, findRepeated } from '../src/domain/compare-lists.ts';
import type { SettingChanges } from '../src/domain/settings.ts';

const KEYS = ['a', 'b', 'c', 'd', 'e', 'f'];

interface Item {
  key: string;
  value: number;
}

const keyOf = ({ key }: Item) => key;
const changesOf = (desired: Item, stored: Item): SettingChanges =>
  desired.value === stored.value ? {} : { value: { from: stored.value, to: desired.value } };

it('differences turn the stored list into the desired one, and there are none of equal lists', () => {
  const random = randomFrom(7);
  const list = () => KEYS.filter(() => random() < 0.6).map((key) => ({ key, value: Math.floor(random() * 2) }));
  for (let run = 0; run < 500; run++) {
    const [desired, stored] = [list(), list()];
    const { added, changed, removed } = compareLists(desired, stored, keyOf, changesOf);
    const result = new Map(stored.map(({ key, value }) => [key, value]));
    for (const { key } of removed) result.delete(key);
    for (const { key, value } of [...added, ...changed.map((each) => each.desired)]) result.set(key, value);
    expect(result).toEqual(new Map(desired.map(({ key, value }) => [key, value])));
    expect(changed.every((each) => each.desired.value !== each.stored.value)).toBe(true);
    expect(compareLists(desired, desired, keyOf, changesOf)).toEqual({ added: [], changed: [], removed: [] });
  }
});

it('the first item that repeats an earlier key is found', () => {
  expect(findRepeated(['a', 'b', 'c', 'b', 'c'], (key) => key)).toBe(3);
  expect(findRepeated(['a', 'b', 'c'], (key) => key)).toBeUndefined();
});
