import { createServer } from 'node:net';
import { runCrs } from '@crs/testing/run-crs';
import type { World } from '@crs/testing/world';
import { describe, expect, test } from 'vitest';
import { convert } from '../src/convert/transcript.ts';
import type { Format } from '../src/convert/formats.ts';

const from = (format: Format, text: string | Buffer) => convert(format, Buffer.from(text as string));
/** The segments as `[speaker, start_seconds, text]`. */
const rows = (format: Format, text: string | Buffer) =>
  from(format, text).map(({ speaker, start_seconds: start, text: said }) => [speaker, start, said]);
const vtt = (...blocks: string[]) => ['WEBVTT', ...blocks].join('\n\n');
const cue = (text: string) => vtt(`00:01.000 --> 00:02.000\n${text}`);

describe('WebVTT', () => {
  test('reads cues with and without ids, hours and settings, and skips comments, styles and regions', () => {
    const file = vtt(
      'STYLE\n::cue { color: white }',
      'REGION\nid:fred',
      'NOTE the first draft\n00:00 is the start',
      '00:05.000 --> 00:09.250 align:start position:10%\n<v Ann>Shall we start?',
      'NOTE',
      '7\n01:02:03.045 --> 01:02:04.000\n<v.loud Bob Example>Yes.</v>',
      '123:00:00.000-->123:00:01.000\nLate',
      '',
    );
    expect(from('vtt', file)).toEqual([
      { speaker: 'Ann', start_seconds: 5, text: 'Shall we start?' },
      { speaker: 'Bob Example', start_seconds: 3723.045, text: 'Yes.' },
      { speaker: null, start_seconds: 442_800, text: 'Late' },
    ]);
  });

  test('accepts a byte order mark, CR LF, CR, a title, and a header with metadata', () => {
    const file = 'WEBVTT - Call\nKind: captions\nLanguage: en\n\n00:01.000 --> 00:02.000\nOne\n\n00:03.000 --> 00:04.000\nTwo';
    const expected = [
      [null, 1, 'One'],
      [null, 3, 'Two'],
    ];
    for (const text of [file, `\uFEFF${file.replaceAll('\n', '\r\n')}\r\n`, file.replaceAll('\n', '\r')]) {
      expect(rows('vtt', text)).toEqual(expected);
    }
    expect(rows('vtt', 'WEBVTT\n00:01.000 --> 00:02.000\nOne')).toEqual([[null, 1, 'One']]);
  });

  test.each([
    ['<b>Bold</b>, <i.a.b>it</i>, <lang en>English</lang>, <ruby>x<rt>y</rt></ruby>', 'Bold, it, English, xy'],
    ['one <00:00:05.000>two<00:06.000><c> three</c>', 'one two three'],
    ['&amp;lt; &lt;3 &#39;a&#x27; &eacute;&nbsp;R&D AT&T &unknown;', "&lt; <3 'a' é\u00A0R&D AT&T &unknown;"],
    ['two\nlines  and   spaces', 'two lines and spaces'],
    ['a < b, 1 <2, x <-- y', 'a < b, 1 <2, x <-- y'],
    ['\0 &#0; &#xD800;', '\uFFFD \uFFFD \uFFFD'],
  ])('reads the text %j', (text, plain) => {
    expect(rows('vtt', cue(text))).toEqual([[null, 1, plain]]);
  });

  test('makes a segment of each voice in a cue, and none of a cue without text', () => {
    expect(rows('vtt', cue('<v Ann>Hello</v>\n<v  Bob&nbsp;B. >Hi <i>Ann</i>\n<v>Who?</v> Noise'))).toEqual([
      ['Ann', 1, 'Hello'],
      ['Bob\u00A0B.', 1, 'Hi Ann'],
      [null, 1, 'Who?'],
      [null, 1, 'Noise'],
    ]);
    expect(from('vtt', vtt('00:01.000 --> 00:02.000', '00:01.000 --> 00:02.000\n<v Ann> </v>'))).toEqual([]);
  });
});

test('SubRip: reads commas and dots, HTML tags, several lines, and blank lines with spaces', () => {
  const file =
    '1\r\n00:00:01,500 --> 00:00:04,000\r\n- <i>Hello</i>\r\n- <font color="#ff0000">Hi</font>\r\n \r\n' +
    '2\r\n00:00:05.250 --> 00:00:06.000 X1:40 X2:600\r\nBye &amp; thanks\r\n\r\n0:00:07,1 --> 0:00:08,0\r\nNote: no id';
  expect(rows('srt', file)).toEqual([
    [null, 1.5, '- Hello - Hi'],
    [null, 5.25, 'Bye & thanks'],
    [null, 7.1, 'Note: no id'],
  ]);
});

describe('Zoom', () => {
  test('reads the speaker before the text of a recording', () => {
    const file = vtt(
      '1\n00:00:02.656 --> 00:00:03.230\nAnn Example: Welcome: all of you.',
      '2\n00:00:04.000 --> 00:00:05.000\nBob (he/him): It is 10:30.',
      '3\n00:00:06.000 --> 00:00:07.000\nAt 10:30 we start',
      `4\n00:00:08.000 --> 00:00:09.000\n${'n'.repeat(64)}: fits`,
      `5\n00:00:10.000 --> 00:00:11.000\n${'n'.repeat(65)}: no name`,
    );
    expect(rows('zoom', file.replaceAll('\n', '\r\n'))).toEqual([
      ['Ann Example', 2.656, 'Welcome: all of you.'],
      ['Bob (he/him)', 4, 'It is 10:30.'],
      [null, 6, 'At 10:30 we start'],
      ['n'.repeat(64), 8, 'fits'],
      [null, 10, `${'n'.repeat(65)}: no name`],
    ]);
  });

  test('reads saved captions, whose first one starts at 0, also after midnight', () => {
    const file = '[Ann Example] 23:59:58\nWelcome.\nStart?\n\n[Bob [Acme]] 00:00:03\nYes.\n';
    expect(rows('zoom', file)).toEqual([
      ['Ann Example', 0, 'Welcome.'],
      ['Ann Example', 0, 'Start?'],
      ['Bob [Acme]', 5, 'Yes.'],
    ]);
  });
});

test('Teams: reads voices with entities over several lines, and cues whose ids are GUIDs', () => {
  const id = '43e1361d-9fd2-4a60-b986-3bc18bb263f1';
  const file = vtt(
    `${id}/7-0\n00:00:03.451 --> 00:00:07.449\n<v P&#233;ter O&apos;Neil (Acme)>I heard that you\nwill be there.</v>`,
    `${id}/5-0\n00:00:03.100 --> 00:00:07.449\n<v Ann>Yes.</v>`,
    `${id}/7-1\n00:00:08.000 --> 00:00:08.000\n<v P&#233;ter O&apos;Neil (Acme)>Yes.</v>`,
  );
  expect(rows('teams', file)).toEqual([
    ["Péter O'Neil (Acme)", 3.451, 'I heard that you will be there.'],
    ['Ann', 3.1, 'Yes.'],
    ["Péter O'Neil (Acme)", 8, 'Yes.'],
  ]);
});

describe('a wrong file is refused with', () => {
  test.each([
    ['vtt', '1\n00:00:01,000 --> 00:00:02,000\nHi', /^line 1: must be WEBVTT.*srt/],
    ['vtt', 'WEBVTTX\n', /^line 1: /],
    ['srt', 'WEBVTT\n\n', /^line 1: .*vtt/],
    ['vtt', vtt('1\n00:00:01.000 --> 0x:00\nHi'), /^line 4: must be the timing/],
    ['vtt', vtt('00:61.000 --> 00:62.000\nHi'), /^line 3: must be the timing/],
    ['srt', '1\n00:00:01,000 --> 00:00:02,000\nHi\n\nsecret', /^line 5: must be the timing/],
    ['teams', vtt('00:01.000 --> 00:02.000\nHi\n00:03.000 --> 00:04.000\nsecret'), /^line 5: .*blank line/],
    ['zoom', '[secret]\nHi', /^line 1: must be a speaker and a time/],
  ] as const)('the line: %s %j', (format, text, message) => {
    expect(() => from(format, text)).toThrow(message);
    expect(() => from(format, text)).not.toThrow(/secret/);
  });

  test('advice, if it is not UTF-8', () => {
    expect(() => from('vtt', Buffer.from('\uFEFFWEBVTT', 'utf16le'))).toThrow(/must be UTF-8/);
  });
});

test.each(['vtt', 'srt', 'zoom', 'teams'] as const)('an empty file is an empty transcript: %s', (format) => {
  for (const text of ['', '\uFEFF', '\r\n \n']) expect(from(format, text)).toEqual([]);
});

test('a transcript has at most 20,000 segments', () => {
  const many = (count: number) => vtt(...Array.from({ length: count }, () => '00:01.000 --> 00:02.000\nHi'));
  expect(from('vtt', many(20_000))).toHaveLength(20_000);
  expect(() => from('vtt', many(20_001))).toThrow(/20,000/);
});

/** In quadratic time, a mebibyte would take minutes. */
describe('a mebibyte of hostile text takes less than five seconds:', () => {
  const SIZE = 1024 * 1024;
  const fill = (part: string) => part.repeat(SIZE / Buffer.byteLength(part));
  test.each([
    ['<'],
    ['<a'],
    ['<v '],
    ['<v.'],
    ['<b>'],
    ['<1'],
    ['</'],
    ['&'],
    ['&#1'],
    ['&lt'],
    [' '],
    ['\n '],
    ['\n\n'],
    ['-->'],
    ['\n0:00'],
    [': '],
    ['\n00:01.000 --> 00:02.000 a:b'],
    ['0'],
  ])('%j', (part) => {
    const filled = fill(part);
    for (const [format, text] of [
      ['vtt', cue(`x${filled}`)],
      ['vtt', `WEBVTT\n\n${filled}`],
      ['vtt', `WEBVTT\n\n00:01.000 --> 00:02.000 ${filled}\nx`],
      ['srt', filled],
      ['zoom', cue(`a${filled}`)],
      ['zoom', `[a] 00:00:00\n[${filled}`],
    ] as const) {
      const start = performance.now();
      try {
        from(format, text);
      } catch (error) {
        expect((error as Error).name).toBe('Failure');
      }
      expect(performance.now() - start, format).toBeLessThan(5_000);
    }
  });
});

describe('crs convert', () => {
  /** Runs the command for services that count connections. */
  async function run(args: string[], input: string | Buffer) {
    let connections = 0;
    const server = createServer((socket) => {
      connections++;
      socket.destroy();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = `127.0.0.1:${(server.address() as { port: number }).port}`;
    const addresses = { authAdmin: address, projectsAdmin: address, callsAdmin: address, entitiesAdmin: address };
    const outcome = await runCrs({ stack: { addresses } } as World, ['convert', ...args], input.toString());
    server.close();
    return { ...outcome, connections };
  }

  test('prints one line of JSON without control characters, and contacts no service', async () => {
    expect(await run(['--from', 'vtt', '-'], cue('<v Ann>a\u009Bb'))).toEqual({
      status: 0,
      stdout: '[{"speaker":"Ann","start_seconds":1,"text":"a\\u009bb"}]\n',
      stderr: '',
      connections: 0,
    });
  });

  test('exits with 1 for a wrong file, and with 2 without a known format', async () => {
    expect(await run(['--from', 'vtt', '-'], 'x')).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(/^error: line 1: /),
    });
    expect(await run(['-'], '')).toMatchObject({ status: 2, stdout: '' });
    expect(await run(['--from', 'ssa', '-'], '')).toMatchObject({ status: 2, stderr: expect.stringContaining('vtt') });
    expect(await run(['--from', 'vtt', '/nothing'], '')).toMatchObject({
      status: 1,
      stderr: 'error: /nothing does not exist.\n',
    });
  });

  test('reads a file of 8 MiB, and refuses a longer one', async () => {
    const file = cue('').padEnd(8 * 1024 * 1024);
    expect(await run(['--from', 'vtt', '-'], file)).toMatchObject({ status: 0, stdout: '[]\n' });
    expect(await run(['--from', 'vtt', '-'], `${file} `)).toMatchObject({ status: 1, stderr: expect.stringContaining('8 MiB') });
  });
});
