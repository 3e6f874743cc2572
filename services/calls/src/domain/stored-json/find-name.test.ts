import { describe, expect, test } from 'vitest';
import type { Transcript } from '../call.ts';
import { toNamePattern } from './find-name.ts';
import { fillNames, fillParticipants } from './placeholders.ts';
import { encode } from './encode.ts';
import { splitDetail } from './parts.ts';
import { sampleRecord } from '../../../test/_sample.ts';
import { isName } from './transcript.ts';

const WITH_EMAILS = true;

/** Renders the participants of a call whose interviewee Eva Maria Smith is shown as X. */
function participants(names: (string | [name: string | null, email: string])[]) {
  const each = names.map((it) => ({
    name: typeof it === 'string' ? it : it[0],
    role: null,
    email: typeof it === 'string' ? null : it[1],
  }));
  const { detail } = encode(sampleRecord({ name: 'Eva Maria Smith', participants: each }));
  return JSON.parse(`{${fillParticipants(splitDetail(detail.join('')).participants, WITH_EMAILS, 'X').slice(1)}}`).participants;
}

/** Renders a transcript of `text` with the interviewee shown as X. */
function label(text: string, name = 'Eva Maria Smith'): string {
  const transcripts: Transcript[] = [{ kind: 'redacted', content: text }];
  return JSON.parse(fillNames(encode(sampleRecord({ name, transcripts })).transcripts.redacted!, 'X'));
}

describe('the interviewee among participants and speakers', () => {
  test.each([
    'Eva Maria Smith',
    'EVA  MARIA\u00a0SMITH',
    'Eva Maria\u3000Smith\u200b',
    'E\u200dva Ma\u00adria Smith',
    'Dr. Eva Maria Smith',
    'Prof. Dr Eva Maria Smith',
    'Dr.Eva Maria Smith',
    'Smith, Eva Maria',
    'Maria Smith, Eva',
    'Dr. Smith, Eva Maria (Contoso)',
    'Smith, Dr. Eva Maria, CFO',
    'Eva Maria Smith (Contoso)',
    'Eva Maria Smith [external]',
    'Eva Maria Smith（コントソ）',
    'Eva Maria Smith, CFO',
    'Eva Maria Smith (Contoso), CFO',
    '[00:00:05] Eva Maria Smith',
    '**Eva Maria Smith**',
    '<v Eva Maria Smith>',
  ])('is recognized as %j', (name) => {
    expect(isName(name, toNamePattern('Eva Maria Smith'))).toBe(true);
    expect(participants([[name, 'eva@contoso.example']])).toEqual([{ name: 'X', role: null }]);
  });

  test.each([
    'Eva',
    'Eva Maria',
    'Eva Maria Smithers',
    'Eva Maria Smith Brown',
    'Eva Maria Smith-Brown',
    'Ann Eva Maria Smith',
    'Maria Eva Smith',
    'Smith, Eva',
    'Smith, Maria Eva',
    'Smith Eva Maria',
    'Contoso (Eva Maria Smith)',
    'Ann & Eva Maria Smith',
    'Eva Maria Smith (Contoso) and Ann',
    '(Contoso)',
    ', ',
    '',
  ])('is not recognized in %j', (name) => {
    const other = [{ name, role: null, email: 'ann@crs.example' }];
    expect(participants([[name, 'ann@crs.example']])).toEqual(other);
  });

  test.each([
    ['Eva', 'Eva Brown'],
    ['Eva', 'Brown, Eva'],
    ['E', 'Eva'],
    ['Ing Lee', 'Lee'],
    ['E', 'Brown, E'],
    ['Smith', 'Eva Smith'],
    ['', ''],
    [' \u200b ', ''],
    ['\u200b', ' '],
  ])('named %j is not confused with %j', (name, other) => {
    expect(isName(other, toNamePattern(name))).toBe(false);
  });

  test.each([
    ['Smith, Eva', 'Eva Smith'],
    ['Dr. Eva Smith', 'Eva Smith'],
    ['Smith, Dr. Eva (Contoso)', 'Eva Smith'],
    ['Eva Smith (Contoso)', 'Smith, Eva'],
    ['Dr.', 'dr.'],
    ['E', 'e'],
    ['(Eva)', '(EVA)'],
    ['**', '**'],
  ])('recorded as %j is recognized as %j', (name, found) => {
    expect(isName(found, toNamePattern(name))).toBe(true);
  });

  test('loses the e-mail address in every entry that has it, and other participants keep theirs', () => {
    const listed: [string | null, string][] = [
      ['Ann', 'ann@crs.example'],
      ['Dr. Eva Maria Smith', 'Eva@contoso.example'],
      ["Eva's phone", 'eva@CONTOSO.example'],
      [null, 'eva@contoso.example'],
    ];
    expect(participants(listed)).toEqual([
      { name: 'Ann', role: null, email: 'ann@crs.example' },
      { name: 'X', role: null },
      { name: "Eva's phone", role: null },
      { name: null, role: null },
    ]);
    const recorded = listed.map(([name, email]) => ({ name, role: null, email }));
    expect(JSON.parse(`{${renderAsRecorded(recorded)}}`).participants).toEqual(recorded);
  });
});

function renderAsRecorded(recorded: { name: string | null; role: null; email: string }[]): string {
  const { detail } = encode(sampleRecord({ name: 'Eva Maria Smith', participants: recorded }));
  return fillParticipants(splitDetail(detail.join('')).participants, WITH_EMAILS, undefined).slice(1);
}

describe('the speaker label of a transcript line', () => {
  test.each([
    ['[00:00:05] Eva Maria Smith: a', '[00:00:05] X: a'],
    ['00:00:05 Eva Maria Smith: a', '00:00:05 X: a'],
    ['(00:05) Eva Maria Smith: a', '(00:05) X: a'],
    ['00:00:05.120 --> 00:00:07.000 Eva Maria Smith: a', '00:00:05.120 --> 00:00:07.000 X: a'],
    ['Eva Maria Smith (00:05): a', 'X (00:05): a'],
    ['Eva Maria Smith [00:00:05]: a', 'X [00:00:05]: a'],
    ['- Eva Maria Smith: a', '- X: a'],
    ['* Eva Maria Smith: a', '* X: a'],
    ['1. Eva Maria Smith: a', '1. X: a'],
    ['> - [0:05] Eva Maria Smith: a', '> - [0:05] X: a'],
    ['**Eva Maria Smith:** a', '**X:** a'],
    ['**Eva Maria Smith**: a', '**X**: a'],
    ['### _Eva Maria Smith_ (Contoso): a', '### _X_ (Contoso): a'],
    ['<b>Eva Maria Smith:</b> a', '<b>X:</b> a'],
    ['Eva Maria Smith (Contoso): a', 'X (Contoso): a'],
    ['Eva Maria Smith, CFO: a', 'X, CFO: a'],
    ['Dr. Eva Maria Smith: a', 'X: a'],
    ['Smith, Eva Maria: a', 'X: a'],
    ['Smith, Eva Maria (Contoso): a', 'X (Contoso): a'],
    ['Eva\u00a0Maria  Smith: a', 'X: a'],
    ['\u200bEva Maria\u200b Smith\u2060: a', '\u200bX\u2060: a'],
    ['<v Eva Maria Smith>a: b', '<v X>a: b'],
    ['<v.loud Eva Maria Smith, CFO>a</v> <v Ann>b</v> <v eva maria smith>c', '<v.loud X, CFO>a</v> <v Ann>b</v> <v X>c'],
    ['<v Eva Maria Smith>Eva Maria Smith: a', '<v X>X: a'],
  ])('is replaced in %j, which becomes %j', (text, expected) => {
    expect(label(`Ann: b\n${text}\nAnn: c`)).toBe(`Ann: b\n${expected}\nAnn: c`);
  });

  test.each([
    'Eva Maria Smith-Brown: a',
    'Ann and Eva Maria Smith: a',
    'Ann: Eva Maria Smith: a',
    'I am Eva Maria Smith: a',
    'Eva Maria Smith (or was it Ann) said: a',
    'Eva Maria Smith said: a',
    'Eva Maria Smith.',
    'Eva Maria Smith, is it so?',
    '[00:05] Ann: Eva Maria Smith',
    '<v Ann>Eva Maria Smith</v>',
    '<v Eva>a',
    '<v Eva Brown>a: b',
  ])('is not recognized in %j, which stays', (text) => {
    expect(label(`${text}\nAnn: b`)).toBe(`${text}\nAnn: b`);
  });

  test('is found in linear time, whatever the text contains', { timeout: 30_000 }, () => {
    const pieces = ['<v ', '<v. ', '[0:05] ', '1. ', '**', '\u200b', 'Dr. ', '(', ',', '<', ':', '00:'];
    const names = ['Eva', '('.repeat(1_000), 'Dr. '.repeat(1_000), 'a, '.repeat(1_000), '\u200ba'.repeat(100_000)];
    const started = process.cpuUsage();
    for (const piece of pieces) for (const name of names) label(`${piece.repeat(200_000 / piece.length)}:`, name);
    expect(process.cpuUsage(started).user / 1_000).toBeLessThan(15_000);
  });
});
