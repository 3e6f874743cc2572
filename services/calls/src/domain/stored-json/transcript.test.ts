import { describe, expect, test } from 'vitest';
import type { QaBlock, Segment, Transcript } from '../call.ts';
import { fillNames } from './placeholders.ts';
import { sampleRecord } from '../../../test/_sample.ts';
import { encode } from './encode.ts';
import { toNamePattern } from './find-name.ts';
import { cleanText, isName } from './transcript.ts';

const segment = (speaker: string | null, text: string): Segment => ({ speaker, start_seconds: null, text });

/** Renders a transcript with the interviewee's `name` shown as `as`, or as recorded if `as` is undefined. */
function rendered(
  content: Transcript['content'],
  name: string | null,
  as: string | undefined,
): { text: string; segments: Segment[] } {
  const record = sampleRecord({ name, transcripts: [{ kind: 'redacted', content }] });
  const { redacted, redactedSegments } = encode(record).transcripts;
  return { text: JSON.parse(fillNames(redacted!, as)), segments: JSON.parse(fillNames(redactedSegments!, as)) };
}
const block = (question: string | null, answer: string | null): QaBlock => ({ id: '', question, answer, section: 'Section' });

test('control characters that the stored form uses as placeholders stay text', () => {
  const text = '\u0001Eva\u0002: a\u001f\u0003\u0004\nEva: b';
  expect(rendered(text, 'Eva', 'X').text).toBe('\u0001Eva\u0002: a\u001f\u0003\u0004\nX: b');
  expect(rendered([segment(text, text)], 'Eva', undefined).segments).toEqual([segment(text, text)]);
});

describe('the text of a transcript in segments', () => {
  test.each<[string, Segment[], string]>([
    ['segments with a speaker', [segment('Ann', 'Hello.'), segment('Eva', 'Hi.')], 'Ann: Hello.\nEva: Hi.'],
    ['segments without a speaker', [segment(null, 'Hello.'), segment('', 'Hi.')], 'Hello.\nHi.'],
    [
      'segments of several lines and of none',
      [segment('Ann', 'a\nb'), segment('Eva', ''), segment(null, '')],
      'Ann: a\nb\nEva: \n',
    ],
  ])('joins %s', (_, segments, text) => {
    expect(rendered(segments, null, 'X')).toEqual({ text, segments });
  });
});

describe('the clean text of Q&A blocks', () => {
  test.each<[string, QaBlock[], string | null]>([
    ['no blocks', [], null],
    ['empty blocks', [block(null, null), block(null, null)], null],
    ['one block', [block('Why?', 'Because.')], 'Q: Why?\nA: Because.'],
    ['an empty block among others', [block('1?', '1.'), block(null, null), block('2?', '2.')], 'Q: 1?\nA: 1.\n\nQ: 2?\nA: 2.'],
    ['a block without a question', [block(null, 'Because.')], 'A: Because.'],
    ['a block without an answer', [block('Why?', null)], 'Q: Why?'],
    ['a block of empty texts, which are kept', [block('', '')], 'Q: \nA: '],
  ])('is right for %s', (_, blocks, text) => {
    expect(cleanText(blocks)).toBe(text);
  });
});

test.each([
  ['Eva', 'X'],
  [' eVA\t', 'X'],
  ['Eva M', 'Eva M'],
  ['Ev', 'Ev'],
  ['', ''],
])('for the interviewee " EVA", the speaker %j is shown as %j', (name, as) => {
  expect(isName(name, toNamePattern(' EVA')) ? 'X' : name).toBe(as);
});

describe('the interviewee in labels of plain text', () => {
  test.each<[string, string, string, string]>([
    ['several lines with the name', 'Eva', 'Eva: a\nAnn: b\nEva: c', 'X: a\nAnn: b\nX: c'],
    ['any case', 'Eva', 'EVA: a\neva: b', 'X: a\nX: b'],
    ['a line that ends after the colon', 'Eva', 'Eva:', 'X:'],
    ['no space after the colon', 'Eva', 'Eva:a', 'X:a'],
    ['white space around the label, which stays', 'Eva', '\t Eva : a\n\u00a0Eva: b', '\t X : a\n\u00a0X: b'],
    ['white space around the name', ' Eva\n', 'Eva: a', 'X: a'],
    [
      'every kind of line end',
      'Eva',
      'a\r\nEva: b\rEva: c\u2028Eva: d\u2029Eva: e\u0085Eva: f\vEva: g\fEva: h\n',
      'a\r\nX: b\rX: c\u2028X: d\u2029X: e\u0085X: f\vX: g\fX: h\n',
    ],
    ['blank lines', 'Eva', '\n\n Eva: a\n\n', '\n\n X: a\n\n'],
    ['a line with more colons', 'Eva', 'Eva: at 10:30: go', 'X: at 10:30: go'],
    ['a name with colons', 'Dr: Eva: CFO', 'Dr: Eva: CFO: a: b\nDr: Eva: CFO', 'X: a: b\nDr: Eva: CFO'],
    ['a name that ends in a colon', 'Eva:', 'Eva:: a\nEva: b', 'X: a\nEva: b'],
    ['a label that is only a part of the name, which stays', 'Eva: CFO', 'Eva: a', 'Eva: a'],
    ['a full-width colon', 'Eva', 'Eva：a\nEva：b: c\nEva: d：e\nAnn：Eva: f', 'X：a\nX：b: c\nX: d：e\nAnn：Eva: f'],
    ['a name with a full-width colon', 'Dr：Eva', 'Dr：Eva: a\nDr:Eva：b\nDr：a', 'X: a\nX：b\nDr：a'],
    ['characters special to patterns', 'E.v+a (M$)|[1]\\', 'e.v+A (m$)|[1]\\: a\nExva (M$): b', 'X: a\nExva (M$): b'],
    ['composed name, decomposed text', 'Zoë', 'ZOE\u0308: a', 'X: a'],
    ['decomposed name, composed text', 'Zoe\u0308', 'ZOË: a', 'X: a'],
    ['a name that grows in case folding', 'İpek', 'İpek: a: b\ni\u0307pek: c', 'X: a: b\nX: c'],
    ['a name that shrinks in case folding', '\u212bsa', 'A\u030asa: a\nåSA: b', 'X: a\nX: b'],
    ['a final sigma', 'ΟΔΥΣΣΕΥΣ', 'Οδυσσευς: a', 'X: a'],
    ['letters of two UTF-16 units', '\u{10400}', '\u{10428}: a', 'X: a'],
    ['a label longer than the name, which stays', 'Eva', 'Eva Muster: a', 'Eva Muster: a'],
    ['a label shorter than the name, which stays', 'Eva Muster', 'Eva: a', 'Eva: a'],
    ['a line without a colon', 'Eva', 'Eva', 'Eva'],
    ['running text, which stays', 'Eva', 'Ann: Eva: you said\nI am Eva: hello, Eva', 'Ann: Eva: you said\nI am Eva: hello, Eva'],
    ['an empty text', 'Eva', '', ''],
  ])('is replaced correctly: %s', (_, name, text, renamed) => {
    expect(rendered(text, name, 'X')).toEqual({ text: renamed, segments: [] });
    expect(rendered(text, name, undefined)).toEqual({ text, segments: [] });
  });

  test('is replaced literally, whatever special characters the replacement has', () => {
    expect(rendered('Eva: a', 'Eva', `$& $1 $' "Eva"\n`).text).toBe(`$& $1 $' "Eva"\n: a`);
  });

  test('is replaced in linear time in megabytes of text, whatever it contains', { timeout: 60_000 }, () => {
    const texts = ['Eva: \n', ':', '\n', 'word ', ' '].map((piece) => piece.repeat(2_000_000 / piece.length));
    const started = process.cpuUsage();
    for (const text of texts) {
      rendered(text, 'Eva', 'X');
      rendered(text, ':'.repeat(1e6), 'X');
    }
    expect(process.cpuUsage(started).user / 1_000).toBeLessThan(4_000);
  });
});

describe('the interviewee in segments', () => {
  test.each<[string, string, Segment[], Segment[]]>([
    ['a speaker', 'Eva', [segment('EVA ', 'a'), segment('Ann', 'b')], [segment('X', 'a'), segment('Ann', 'b')]],
    ['labels inside the text', 'Eva', [segment('Ann', 'a\nEva: b\nthe Eva: c')], [segment('Ann', 'a\nX: b\nthe Eva: c')]],
    ['a label that repeats the speaker', 'Eva', [segment('Eva', 'Eva: a')], [segment('X', 'X: a')]],
    [
      'a label in the text of a segment without a speaker',
      'Eva',
      [segment(null, 'Eva: a'), segment('', 'Eva: b')],
      [segment(null, 'X: a'), segment('', 'X: b')],
    ],
    [
      'a speaker that ends in a colon',
      'Eva',
      [segment('Eva:', 'a'), segment('Eva: CFO', 'b')],
      [segment('X:', 'a'), segment('X: CFO', 'b')],
    ],
    ['a speaker that ends in a full-width colon', 'Eva', [segment('Eva：', 'a')], [segment('X：', 'a')]],
    ['a speaker of two lines', 'Eva', [segment('Ann\nEva', 'a')], [segment('Ann\nX', 'a')]],
    ['a name of two lines', 'Eva\nMuster', [segment('EVA\nMUSTER', 'a')], [segment('X', 'a')]],
    [
      'other names, which stay',
      'Eva',
      [segment('Eva M', 'a'), segment('Ann & Eva', 'b')],
      [segment('Eva M', 'a'), segment('Ann & Eva', 'b')],
    ],
    ['running text, which stays', 'Eva', [segment('Ann', 'Eva, is it so?')], [segment('Ann', 'Eva, is it so?')]],
  ])('is replaced correctly: %s', (_, name, before, after) => {
    expect(rendered(before, name, 'X')).toEqual(rendered(after, null, undefined));
    expect(rendered(before, name, undefined).segments).toEqual(before);
  });

  test.each<[string, string, Segment, Segment, string]>([
    ['split between speaker and text', 'Dr: Eva', segment('Dr', 'Eva: hello'), segment('X', 'X: hello'), 'X: hello'],
    ['split at its second colon', 'Dr: Eva: CFO', segment('dr: eva', 'cfo: a'), segment('X', 'X: a'), 'X: a'],
    [
      'split at the last line of a speaker of two lines',
      'Dr: Eva',
      segment('Ann\nDr', 'Eva: a\nDr: Eva: b'),
      segment('Ann\nX', 'X: a\nX: b'),
      'Ann\nX: a\nX: b',
    ],
    ['that repeats itself', 'a: a', segment('a', 'a: a: b'), segment('X', 'X: a: b'), 'X: a: b'],
    ['that ends in a colon', 'Dr:', segment('Dr', ': a'), segment('X', ': a'), 'X : a'],
    ['that is the whole speaker', 'Dr: Eva', segment('Dr: Eva', 'a: b'), segment('X', 'a: b'), 'X: a: b'],
    [
      'that is only partly there, which stays',
      'Dr: Eva',
      segment('Dr', 'Ann: hello'),
      segment('Dr', 'Ann: hello'),
      'Dr: Ann: hello',
    ],
  ])('is replaced under a name with a colon, %s', (_, name, before, after, text) => {
    expect(rendered([before], name, 'X')).toEqual({ text, segments: [after] });
    expect(rendered([before], name, undefined).segments).toEqual([before]);
    expect(rendered([before], name, undefined).text).toBe(`${before.speaker}: ${before.text}`);
  });

  test('is replaced in the text as in the segments', () => {
    const { text } = rendered([segment('Eva', 'a\nEva: b'), segment(null, 'Eva: c')], 'Eva', 'X');
    expect(text).toBe('X: a\nX: b\nX: c');
  });
});
