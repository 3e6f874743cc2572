import { describe, expect, test } from 'vitest';
import type { QaBlock, Segment, Transcript } from '../call.ts';
import { fillNames } from './placeholders.ts';
import { sampleRecord } from '../../../test/_sample.ts';
import { encode } from './encode.ts';
import { toNamePattern } from './find-name.ts';
import { cleanText, isName } from './transcript.ts';

const segment = (speaker: string | null, text: string): Segment => ({ speaker, start_seconds: null, text });

/** The transcript as it is shown with another name; undefined: as recorded. */
function shown(
  content: Transcript['content'],
  name: string | null,
  as: string | undefined,
): { text: string; segments: Segment[] } {
  const record = sampleRecord({ name, transcripts: [{ kind: 'redacted', content }] });
  const { redacted, redactedSegments } = encode(record).transcripts;
  return { text: JSON.parse(fillNames(redacted!, as)), segments: JSON.parse(fillNames(redactedSegments!, as)) };
}
const block = (question: string | null, answer: string | null): QaBlock => ({ id: '', question, answer, section: 'Section' });

test('what looks like a mark is text', () => {
  const text = '\u0001Eva\u0002: a\u001f\u0003\u0004\nEva: b';
  expect(shown(text, 'Eva', 'X').text).toBe('\u0001Eva\u0002: a\u001f\u0003\u0004\nX: b');
  expect(shown([segment(text, text)], 'Eva', undefined).segments).toEqual([segment(text, text)]);
});

describe('flattening', () => {
  test.each<[string, Segment[], string]>([
    ['speakers', [segment('Ann', 'Hello.'), segment('Eva', 'Hi.')], 'Ann: Hello.\nEva: Hi.'],
    ['no speaker', [segment(null, 'Hello.'), segment('', 'Hi.')], 'Hello.\nHi.'],
    ['text of several lines and of none', [segment('Ann', 'a\nb'), segment('Eva', ''), segment(null, '')], 'Ann: a\nb\nEva: \n'],
  ])('%s', (_, segments, text) => {
    expect(shown(segments, null, 'X')).toEqual({ text, segments });
  });
});

describe('the clean text', () => {
  test.each<[string, QaBlock[], string | null]>([
    ['no blocks', [], null],
    ['blocks of nothing', [block(null, null), block(null, null)], null],
    ['one block', [block('Why?', 'Because.')], 'Q: Why?\nA: Because.'],
    [
      'a block of nothing among others',
      [block('1?', '1.'), block(null, null), block('2?', '2.')],
      'Q: 1?\nA: 1.\n\nQ: 2?\nA: 2.',
    ],
    ['no question', [block(null, 'Because.')], 'A: Because.'],
    ['no answer', [block('Why?', null)], 'Q: Why?'],
    ['empty texts are texts', [block('', '')], 'Q: \nA: '],
  ])('%s', (_, blocks, text) => {
    expect(cleanText(blocks)).toBe(text);
  });
});

test.each([
  ['Eva', 'X'],
  [' eVA\t', 'X'],
  ['Eva M', 'Eva M'],
  ['Ev', 'Ev'],
  ['', ''],
])('the name %j is shown as %j', (name, as) => {
  expect(isName(name, toNamePattern(' EVA')) ? 'X' : name).toBe(as);
});

describe('labels in plain text', () => {
  test.each<[string, string, string, string]>([
    ['each line of the name', 'Eva', 'Eva: a\nAnn: b\nEva: c', 'X: a\nAnn: b\nX: c'],
    ['any case', 'Eva', 'EVA: a\neva: b', 'X: a\nX: b'],
    ['nothing after the colon', 'Eva', 'Eva:', 'X:'],
    ['no space after the colon', 'Eva', 'Eva:a', 'X:a'],
    ['white space around the label stays', 'Eva', '\t Eva : a\n\u00a0Eva: b', '\t X : a\n\u00a0X: b'],
    ['white space around the name', ' Eva\n', 'Eva: a', 'X: a'],
    [
      'every kind of line end',
      'Eva',
      'a\r\nEva: b\rEva: c\u2028Eva: d\u2029Eva: e\u0085Eva: f\vEva: g\fEva: h\n',
      'a\r\nX: b\rX: c\u2028X: d\u2029X: e\u0085X: f\vX: g\fX: h\n',
    ],
    ['blank lines', 'Eva', '\n\n Eva: a\n\n', '\n\n X: a\n\n'],
    ['more colons follow', 'Eva', 'Eva: at 10:30: go', 'X: at 10:30: go'],
    ['a name with colons', 'Dr: Eva: CFO', 'Dr: Eva: CFO: a: b\nDr: Eva: CFO', 'X: a: b\nDr: Eva: CFO'],
    ['a name that ends in a colon', 'Eva:', 'Eva:: a\nEva: b', 'X: a\nEva: b'],
    ['part of a name with a colon is another name', 'Eva: CFO', 'Eva: a', 'Eva: a'],
    ['a full-width colon', 'Eva', 'Eva：a\nEva：b: c\nEva: d：e\nAnn：Eva: f', 'X：a\nX：b: c\nX: d：e\nAnn：Eva: f'],
    ['a name with a full-width colon', 'Dr：Eva', 'Dr：Eva: a\nDr:Eva：b\nDr：a', 'X: a\nX：b\nDr：a'],
    ['characters special to patterns', 'E.v+a (M$)|[1]\\', 'e.v+A (m$)|[1]\\: a\nExva (M$): b', 'X: a\nExva (M$): b'],
    ['composed name, decomposed text', 'Zoë', 'ZOE\u0308: a', 'X: a'],
    ['decomposed name, composed text', 'Zoe\u0308', 'ZOË: a', 'X: a'],
    ['a name that grows when folded', 'İpek', 'İpek: a: b\ni\u0307pek: c', 'X: a: b\nX: c'],
    ['a name that shrinks when folded', '\u212bsa', 'A\u030asa: a\nåSA: b', 'X: a\nX: b'],
    ['a final sigma', 'ΟΔΥΣΣΕΥΣ', 'Οδυσσευς: a', 'X: a'],
    ['letters of two units', '\u{10400}', '\u{10428}: a', 'X: a'],
    ['a longer name', 'Eva', 'Eva Muster: a', 'Eva Muster: a'],
    ['a shorter name', 'Eva Muster', 'Eva: a', 'Eva: a'],
    ['a line without a colon', 'Eva', 'Eva', 'Eva'],
    ['running text', 'Eva', 'Ann: Eva: you said\nI am Eva: hello, Eva', 'Ann: Eva: you said\nI am Eva: hello, Eva'],
    ['no text', 'Eva', '', ''],
  ])('%s', (_, name, text, renamed) => {
    expect(shown(text, name, 'X')).toEqual({ text: renamed, segments: [] });
    expect(shown(text, name, undefined)).toEqual({ text, segments: [] });
  });

  test('a replacement is taken as it is', () => {
    expect(shown('Eva: a', 'Eva', `$& $1 $' "Eva"\n`).text).toBe(`$& $1 $' "Eva"\n: a`);
  });

  test('a text of megabytes takes a moment, whatever it holds', { timeout: 60_000 }, () => {
    const texts = ['Eva: \n', ':', '\n', 'word ', ' '].map((piece) => piece.repeat(2_000_000 / piece.length));
    const started = process.cpuUsage();
    for (const text of texts) {
      shown(text, 'Eva', 'X');
      shown(text, ':'.repeat(1e6), 'X');
    }
    expect(process.cpuUsage(started).user / 1_000).toBeLessThan(4_000);
  });
});

describe('labels in segments', () => {
  test.each<[string, string, Segment[], Segment[]]>([
    ['speakers', 'Eva', [segment('EVA ', 'a'), segment('Ann', 'b')], [segment('X', 'a'), segment('Ann', 'b')]],
    ['lines in what is said', 'Eva', [segment('Ann', 'a\nEva: b\nthe Eva: c')], [segment('Ann', 'a\nX: b\nthe Eva: c')]],
    ['a label said twice', 'Eva', [segment('Eva', 'Eva: a')], [segment('X', 'X: a')]],
    [
      'a label in place of a speaker',
      'Eva',
      [segment(null, 'Eva: a'), segment('', 'Eva: b')],
      [segment(null, 'X: a'), segment('', 'X: b')],
    ],
    [
      'a speaker with the colon',
      'Eva',
      [segment('Eva:', 'a'), segment('Eva: CFO', 'b')],
      [segment('X:', 'a'), segment('X: CFO', 'b')],
    ],
    ['a speaker with a full-width colon', 'Eva', [segment('Eva：', 'a')], [segment('X：', 'a')]],
    ['a speaker of two lines', 'Eva', [segment('Ann\nEva', 'a')], [segment('Ann\nX', 'a')]],
    ['a name of two lines', 'Eva\nMuster', [segment('EVA\nMUSTER', 'a')], [segment('X', 'a')]],
    [
      'other names',
      'Eva',
      [segment('Eva M', 'a'), segment('Ann & Eva', 'b')],
      [segment('Eva M', 'a'), segment('Ann & Eva', 'b')],
    ],
    ['running text', 'Eva', [segment('Ann', 'Eva, is it so?')], [segment('Ann', 'Eva, is it so?')]],
  ])('%s', (_, name, before, after) => {
    expect(shown(before, name, 'X')).toEqual(shown(after, null, undefined));
    expect(shown(before, name, undefined).segments).toEqual(before);
  });

  test.each<[string, string, Segment, Segment, string]>([
    ['divided', 'Dr: Eva', segment('Dr', 'Eva: hello'), segment('X', 'X: hello'), 'X: hello'],
    ['divided at its second colon', 'Dr: Eva: CFO', segment('dr: eva', 'cfo: a'), segment('X', 'X: a'), 'X: a'],
    [
      'divided at a line of its own',
      'Dr: Eva',
      segment('Ann\nDr', 'Eva: a\nDr: Eva: b'),
      segment('Ann\nX', 'X: a\nX: b'),
      'Ann\nX: a\nX: b',
    ],
    ['that repeats itself', 'a: a', segment('a', 'a: a: b'), segment('X', 'X: a: b'), 'X: a: b'],
    ['that ends in a colon', 'Dr:', segment('Dr', ': a'), segment('X', ': a'), 'X : a'],
    ['that is the speaker', 'Dr: Eva', segment('Dr: Eva', 'a: b'), segment('X', 'a: b'), 'X: a: b'],
    ['that is another one', 'Dr: Eva', segment('Dr', 'Ann: hello'), segment('Dr', 'Ann: hello'), 'Dr: Ann: hello'],
  ])('a name with a colon, %s', (_, name, before, after, text) => {
    expect(shown([before], name, 'X')).toEqual({ text, segments: [after] });
    expect(shown([before], name, undefined).segments).toEqual([before]);
    expect(shown([before], name, undefined).text).toBe(`${before.speaker}: ${before.text}`);
  });

  test('the text is that of the segments, also as a label of it', () => {
    const { text } = shown([segment('Eva', 'a\nEva: b'), segment(null, 'Eva: c')], 'Eva', 'X');
    expect(text).toBe('X: a\nX: b\nX: c');
  });
});
