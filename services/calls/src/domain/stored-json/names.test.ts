import { describe, expect, test } from 'vitest';
import { SECRET } from '../../../test/_sample.ts';
import { replacementFor, shownName } from './names.ts';

const named = (name: string | null, anonymizedName: string | null = null, employer: string | null = 'Initech') => ({
  name,
  employer,
  anonymizedName,
});
const anonymized = (...args: Parameters<typeof named>) => shownName(named(...args), SECRET);

describe('the shown name', () => {
  test('is the recorded one where names are not anonymized', () => {
    expect(shownName(named('Eva', 'Expert 7'), undefined)).toBe('Eva');
    expect(shownName(named(null, 'Expert 7'), undefined)).toBeNull();
  });

  test('is the recorded anonymized one where they are', () => {
    expect(anonymized('Eva', 'Expert 7')).toBe('Expert 7');
  });

  test('is a pseudonym where none is recorded', () => {
    expect(anonymized('Eva')).toMatch(/^Expert [A-Z2-7]{8}$/);
    expect(anonymized('Eva', ' ')).toBe(anonymized('Eva'));
  });

  test('is null where no name is recorded', () => {
    expect(anonymized(null)).toBeNull();
    expect(anonymized(null, 'Expert 7')).toBeNull();
  });
});

describe('a pseudonym', () => {
  // As long as secrets never rotate, the names derived from them may not change either.
  test('never changes', () => {
    expect(anonymized('Eva Muster')).toBe('Expert RLQUVFQ2');
  });

  test('is of 5 bytes, most significant first', () => {
    const names = Array.from({ length: 2000 }, (_, i) => anonymized(`Expert ${i}`)!.slice('Expert '.length));
    for (let position = 0; position < 8; position++) {
      expect(new Set(names.map((name) => name[position])).size).toBe(32);
    }
    expect(new Set(names).size).toBe(2000);
  });

  test('is the same in any case', () => {
    expect(anonymized('eVA mUSTER', null, 'INITECH')).toBe(anonymized('Eva Muster'));
  });

  test('is the same for composed and decomposed letters', () => {
    expect(anonymized('Zoë', null, 'Nestlé')).toBe(anonymized('Zoe\u0308', null, 'Nestle\u0301'));
  });

  test('differs by name, by employer and by secret', () => {
    const all = [
      anonymized('Eva'),
      anonymized('Eve'),
      anonymized('Eva', null, 'Initrode'),
      anonymized('Eva', null, ''),
      anonymized('Eva', null, null),
      anonymized('Eva', null, 'null'),
      anonymized('', null, 'EvaInitech'),
      anonymized('EvaInitech', null, ''),
      anonymized('Eva","Initech', null, ''),
      shownName(named('Eva'), Buffer.alloc(32, 8)),
    ];
    expect(new Set(all).size).toBe(all.length);
  });
});

describe('what replaces the name elsewhere', () => {
  test.each<[string, string | null, string | null, boolean, boolean, string | undefined]>([
    ['shown as recorded: nothing', 'Eva', 'Expert 7', true, false, undefined],
    ['anonymized: what is shown', 'Eva', 'Expert 7', true, true, 'Expert 7'],
    ['anonymized, no alias: what is shown', 'Eva', null, true, true, anonymized('Eva')!],
    ['not enabled: the alias', 'Eva', 'Expert 7', false, false, 'Expert 7'],
    ['not enabled and anonymized: the alias', 'Eva', 'Expert 7', false, true, 'Expert 7'],
    ['not enabled, no alias: the role', 'Eva', null, false, false, 'Interviewee'],
    ['not enabled and anonymized, no alias: the role', 'Eva', null, false, true, 'Interviewee'],
    ['not enabled, blank alias: the role', 'Eva', '', false, false, 'Interviewee'],
    ['no name recorded: nothing', null, 'Expert 7', false, true, undefined],
    ['blank name: nothing, as it names nobody', ' ', 'Expert 7', false, true, undefined],
  ])('%s', (_, name, alias, enabled, anonymize, replacement) => {
    expect(replacementFor(named(name, alias), enabled, anonymize ? SECRET : undefined)).toBe(replacement);
  });
});
