import { describe, expect, test } from 'vitest';
import { MAX_LINE_BYTES } from '@crs/records/import-record';
import { readLines, type Line } from '../src/import/lines.ts';

async function linesOf(...chunks: (string | Buffer)[]): Promise<Line[]> {
  return Array.fromAsync(readLines(streamOf(chunks)));
}

async function* streamOf(chunks: (string | Buffer)[]): AsyncGenerator<Buffer> {
  for (const chunk of chunks) yield Buffer.from(chunk);
}

const texts = (lines: Line[]) => lines.map(({ bytes }) => bytes?.toString());

describe('reading a file', () => {
  test('ends a line at LF, CR LF or the end of the file', async () => {
    expect(texts(await linesOf('a\nb\r\nc'))).toEqual(['a', 'b', 'c']);
    expect(texts(await linesOf('a\nb\n'))).toEqual(['a', 'b']);
    expect(texts(await linesOf('a\r\nb\r'))).toEqual(['a', 'b']);
  });

  test('keeps a CR elsewhere in its line', async () => {
    expect(texts(await linesOf('a\rb\n\r\r\n'))).toEqual(['a\rb', '\r']);
  });

  test('returns blank lines, and counts them', async () => {
    const lines = await linesOf('\n\r\na\n\n');
    expect(texts(lines)).toEqual(['', '', 'a', '']);
    expect(lines.map(({ number }) => number)).toEqual([1, 2, 3, 4]);
  });

  test('returns no lines from an empty file', async () => {
    expect(await linesOf()).toEqual([]);
    expect(await linesOf('')).toEqual([]);
  });
});

test('a byte order mark is removed only at the start of the file', async () => {
  expect(texts(await linesOf('\uFEFFa\n\uFEFFb'))).toEqual(['a', '\uFEFFb']);
  expect(texts(await linesOf('\uFEFF\na'))).toEqual(['', 'a']);
});

test('chunks may end anywhere, also within a character, a line end or the byte order mark', async () => {
  const bytes = Buffer.from('\uFEFF{"a":"é😀"}\r\n\r\nüber\nlast');
  const whole = await linesOf(bytes);
  expect(texts(whole)).toEqual(['{"a":"é😀"}', '', 'über', 'last']);
  for (let size = 1; size <= bytes.length; size++) {
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.subarray(i * size, (i + 1) * size));
    expect(await linesOf(...chunks)).toEqual(whole);
  }
});

test('a line reports the position in the file at which it ends', async () => {
  expect((await linesOf('\uFEFFab\r\n', '\nc')).map(({ end }) => end)).toEqual([7, 8, 9]);
});

describe('a line', () => {
  const longest = 'x'.repeat(MAX_LINE_BYTES);

  test.each([
    ['LF', `${longest}\nb`],
    ['CR LF', `${longest}\r\nb`],
    ['a byte order mark and CR LF', `\uFEFF${longest}\r\nb`],
  ])('may be 8 MiB long, not counting %s', async (_, file) => {
    const lines = await linesOf(file);
    expect(lines.map(({ bytes }) => bytes?.length)).toEqual([MAX_LINE_BYTES, 1]);
  });

  test.each([
    ['LF', `${longest}x\nb`],
    ['CR LF', `${longest}x\r\nb`],
    ['a byte order mark and CR LF', `\uFEFF${longest}x\r\nb`],
  ])('that is one byte longer, not counting %s, is dropped, and the next line is read', async (_, file) => {
    const lines = await linesOf(file);
    expect(lines.map(({ number, bytes }) => [number, bytes?.length])).toEqual([
      [1, undefined],
      [2, 1],
    ]);
  });

  test('at the end of the file has the same limit', async () => {
    expect(texts(await linesOf(`a\n${longest}x`))).toEqual(['a', undefined]);
  });

  test('that is far too long is not kept in memory', async () => {
    const chunk = Buffer.alloc(1024 * 1024, 'x');
    let read = 0;
    async function* endless() {
      for (; read < 512; read++) yield chunk.subarray();
      yield Buffer.from('\nb\n');
    }
    const before = process.memoryUsage().arrayBuffers;
    const lines = await Array.fromAsync(readLines(endless()));
    expect(texts(lines)).toEqual([undefined, 'b']);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(32 * 1024 * 1024);
  });
});
