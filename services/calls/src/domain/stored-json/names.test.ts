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
  test('is the recorded name if names are not anonymized', () => {
    expect(shownName(named('Eva', 'Expert 7'), undefined)).toBe('Eva');
    expect(shownName(named(null, 'Expert 7'), undefined)).toBeNull();
  });

  test('is the recorded anonymized name if names are anonymized', () => {
    expect(anonymized('Eva', 'Expert 7')).toBe('Expert 7');
  });

  test('is a pseudonym if names are anonymized and no anonymized name is recorded', () => {
    expect(anonymized('Eva')).toMatch(/^Expert [A-Z2-7]{8}$/);
    expect(anonymized('Eva', ' ')).toBe(anonymized('Eva'));
  });

  test('is null if no name is recorded', () => {
    expect(anonymized(null)).toBeNull();
    expect(anonymized(null, 'Expert 7')).toBeNull();
  });
});

describe('a pseudonym', () => {
  // Clients recognize a person by this name. The secret never rotates, so only a changed derivation could change it.
  test('never changes', () => {
    expect(anonymized('Eva Muster')).toBe('Expert RLQUVFQ2');
  });

  test('encodes 5 bytes, so each of its 8 characters takes all 32 values', () => {
    const names = Array.from({ length: 2000 }, (_, i) => anonymized(`Expert ${i}`)!.slice('Expert '.length));
    for (let position = 0; position < 8; position++) {
      expect(new Set(names.map((name) => name[position])).size).toBe(32);
    }
    expect(new Set(names).size).toBe(2000);
  });

  test('ignores the case of name and employer', () => {
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

describe('the replacement for the name in participants and transcripts', () => {
  test.each<[string, string | null, string | null, boolean, boolean, string | undefined]>([
    ['absent if the name is shown as recorded', 'Eva', 'Expert 7', true, false, undefined],
    ['the alias if the name is anonymized', 'Eva', 'Expert 7', true, true, 'Expert 7'],
    ['the pseudonym if the name is anonymized and has no alias', 'Eva', null, true, true, anonymized('Eva')!],
    ['the alias if the field is not enabled', 'Eva', 'Expert 7', false, false, 'Expert 7'],
    ['the alias if the field is not enabled and the name is anonymized', 'Eva', 'Expert 7', false, true, 'Expert 7'],
    ['the role if the field is not enabled and there is no alias', 'Eva', null, false, false, 'Interviewee'],
    [
      'the role if the field is not enabled, the name is anonymized and there is no alias',
      'Eva',
      null,
      false,
      true,
      'Interviewee',
    ],
    ['the role if the field is not enabled and the alias is blank', 'Eva', '', false, false, 'Interviewee'],
    ['absent if no name is recorded', null, 'Expert 7', false, true, undefined],
    ['absent if the recorded name is blank', ' ', 'Expert 7', false, true, undefined],
  ])('is %s', (_, name, alias, enabled, anonymize, replacement) => {
    expect(replacementFor(named(name, alias), enabled, anonymize ? SECRET : undefined)).toBe(replacement);
  });
});
