import { expect, test, vi } from 'vitest';
import { details, layOut, show, showError, table, toJson } from '../src/output.ts';

test('a table has no borders and no trailing spaces', () => {
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

test('columns are aligned by the width of characters on a terminal', () => {
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

test('a long table takes time proportional to its number of rows', () => {
  const rows = Array.from({ length: 100_000 }, (_, n) => [`organization-${n}`, `Organization ${n}`, true, null]);
  const started = performance.now();
  expect(table(['organization', 'name', 'on', 'of'], rows).split('\n')).toHaveLength(100_001);
  // Quadratic time would be over an hour.
  expect(performance.now() - started).toBeLessThan(10_000);
});

test('a message is printed with the field names of its JSON', () => {
  const limit = { requests: 600, periodSeconds: 60 };
  const message = { keyId: 'k1', expiresAt: undefined, createdAt: new Date(0), readOnly: false, redirectUris: ['a', 'b'], limit };
  const json = toJson(message);
  expect(JSON.parse(JSON.stringify(json))).toEqual({
    key_id: 'k1',
    expires_at: null,
    created_at: '1970-01-01T00:00:00.000Z',
    read_only: false,
    redirect_uris: ['a', 'b'],
    limit: { requests: 600, period_seconds: 60 },
  });
  expect(
    layOut(json)
      .split('\n')
      .map((line) => line.replaceAll(/ {2,}/g, ': ')),
  ).toEqual([
    'key id: k1',
    'expires at: -',
    'created at: 1970-01-01T00:00:00.000Z',
    'read only: no',
    'redirect uris: a,b',
    'limit requests: 600',
    'limit period seconds: 60',
  ]);
  expect(layOut({ data: [{ key_id: 'k1', read_only: true }] })).toBe('KEY ID  READ ONLY\nk1      yes');
  expect(layOut({ data: [] })).toBe('None.');
});

test('an empty table prints None.', () => expect(table(['name'], [])).toBe('None.'));

test('control characters in values do not reach the terminal', () => {
  expect(table(['name'], [['a\u001b[31m\nb\u202Ec']])).toBe('NAME\na�[31m�b�c');
});

/** A cursor movement in C1, one in C0, DEL, every bidirectional control, and the other format characters that a terminal may act on. */
const HOSTILE =
  'A\u0080\u009b31m\u009f\u001b[2J\u007f\u061c\u200e\u200f\u202a\u202e\u2066\u2069\u2028\u2029\u206a\u206f\ufff9\ufffb';
/** Joiners of Persian words and emoji, a soft hyphen, and a character outside the basic plane: ordinary text. */
const ORDINARY = 'می\u200cخواهم 👩\u200d🚀 co\u00adop \u00a0é';

test('the JSON of a result escapes control characters and leaves ordinary text as it is', () => {
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  show({ json: true }, { [HOSTILE]: HOSTILE, ordinary: ORDINARY }, () => '');
  const [line] = write.mock.calls[0] as [string];
  write.mockRestore();
  expect(line).not.toMatch(/[^\P{Cc}\n]|[\p{Bidi_Control}\u2028\u2029\u206A-\u206F\uFFF9-\uFFFB]/u);
  expect(line).toContain('\\u0080\\u009b31m\\u009f');
  expect(line).toContain(ORDINARY);
  expect(JSON.parse(line)).toEqual({ [HOSTILE]: HOSTILE, ordinary: ORDINARY });
});

test.each([true, false])('an error on standard error has no control characters, with JSON: %s', (json) => {
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  showError(json, { code: 'not_found', message: HOSTILE });
  const [line] = write.mock.calls[0] as [string];
  write.mockRestore();
  expect(line).not.toMatch(/[^\P{Cc}\n]|[\p{Bidi_Control}\u2028\u2029\u206A-\u206F\uFFF9-\uFFFB]/u);
  if (json) expect(JSON.parse(line)).toEqual({ error: { code: 'not_found', message: HOSTILE } });
});
