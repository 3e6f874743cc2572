import { describe, expect, it } from 'vitest';
import { fold } from './text.ts';

/** Two combining marks in the reverse of canonical order, so that normalization has to move each. */
const MARKS = '\u0301\u0316';

describe('fold', () => {
  it('maps texts that differ only in case, composition or the order of combining marks to the same result', () => {
    expect(fold('Z\u00fcRICH')).toBe(fold('zu\u0308rich'));
    expect(fold(`A${MARKS.repeat(15)}`)).toBe(fold(`a${'\u0316\u0301'.repeat(15)}`));
  });

  it('splits a run of more than 30 combining marks, and leaves shorter runs unchanged', () => {
    expect(fold(`a${MARKS.repeat(15)}`)).not.toContain('\u034f');
    expect(fold(`a${MARKS.repeat(15)}\u0301`)).toContain('\u034f');
  });

  // As a single run, these marks would take most of a minute to sort, and the test would time out.
  it('takes little time for a text of 200,000 combining marks', () => {
    expect(fold(`a${MARKS.repeat(100_000)}`)).toHaveLength(206_666);
  });
});
