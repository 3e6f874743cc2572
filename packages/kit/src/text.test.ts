import { describe, expect, it } from 'vitest';
import { fold } from './text.ts';

/** Two marks that canonical order puts the other way around, so that a sort has to move each. */
const MARKS = '\u0301\u0316';

describe('fold', () => {
  it('makes texts equal that differ in case, composition or the order of their marks', () => {
    expect(fold('Z\u00fcRICH')).toBe(fold('zu\u0308rich'));
    expect(fold(`A${MARKS.repeat(15)}`)).toBe(fold(`a${'\u0316\u0301'.repeat(15)}`));
  });

  it('divides a run of more than 30 marks, and changes no shorter one', () => {
    expect(fold(`a${MARKS.repeat(15)}`)).not.toContain('\u034f');
    expect(fold(`a${MARKS.repeat(15)}\u0301`)).toContain('\u034f');
  });

  // Sorted as one run, these marks take most of a minute, and the test times out.
  it('takes little time for a text of 200,000 marks', () => {
    expect(fold(`a${MARKS.repeat(100_000)}`)).toHaveLength(206_666);
  });
});
