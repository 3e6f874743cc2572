import { describe, expect, test } from 'vitest';
import { ServiceError } from '@crs/kit/errors';
import { ImportStopped, run, type Batch, type Send } from '../src/import/run.ts';
import { call, importLines, org, recorder, user } from './import-lines.ts';

const MIB = 1024 * 1024;

describe('batches', () => {
  test('hold lines of one organization and type, in the order of the file', async () => {
    const { sent, send } = recorder();
    await importLines([org('a'), org('b'), user('a', '1'), user('b', '1'), user('a', '2'), call('a', '1'), call('b', '1')], send);
    expect(sent).toEqual([
      ['auth', 'a', [1]],
      ['auth', 'b', [2]],
      ['auth', 'a', [3, 5]],
      ['auth', 'b', [4]],
      ['calls', 'a', [6]],
      ['calls', 'b', [7]],
    ]);
  });

  test('hold at most 1,000 lines', async () => {
    const { sent, send } = recorder();
    await importLines(
      Array.from({ length: 2_001 }, (_, i) => call('a', String(i))),
      send,
    );
    expect(sent.map(([, , numbers]) => numbers.length)).toEqual([1_000, 1_000, 1]);
  });

  test('are full even if organizations are mixed', async () => {
    const { sent, send } = recorder();
    await importLines(
      Array.from({ length: 4_000 }, (_, i) => call(i % 2 ? 'a' : 'b', String(i))),
      send,
    );
    expect(sent.map(([, organization, numbers]) => [organization, numbers.length])).toEqual([
      ['b', 1_000],
      ['b', 1_000],
      ['a', 1_000],
      ['a', 1_000],
    ]);
  });

  test('hold at most 16 MiB of lines', async () => {
    const sizes: number[] = [];
    const line = JSON.stringify(call('a', 'c', {}, { summary: 'x'.repeat(6 * MIB) }));
    await importLines([line, line, line, line, line], async ({ lines }) => {
      sizes.push(lines.reduce((sum, { json }) => sum + json.length, 0));
      return { accepted: lines.length, unchanged: 0, errors: [] };
    });
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(5 * line.length);
    expect(Math.max(...sizes)).toBe(2 * line.length);
  });
});

describe('an import reports', () => {
  test('a summary, refusals in the order of the file, and its progress in bytes', async () => {
    const send: Send = async ({ lines }: Batch) => {
      const bad = lines.filter(({ number }) => number === 2);
      return {
        accepted: 1,
        unchanged: lines.length - bad.length - 1,
        errors: bad.map(({ number }) => ({ line: number, field: '', reason: 'no', holdId: '' })),
      };
    };
    const lines = [call('a', '1'), call('a', '2'), '', 'x', call('a', '3'), '{}'];
    const { summary, refused, progress } = await importLines(lines, send);
    const bytes = Buffer.byteLength(lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'));
    expect(summary).toEqual({ lines: 6, bytes, accepted: 1, unchanged: 1, refused: 3 });
    expect(refused.map(({ line, field }) => [line, field])).toEqual([
      [2, null],
      [4, null],
      [6, 'type'],
    ]);
    expect(progress.at(-1)).toEqual(summary);
    expect(progress.every((now, i) => i === 0 || now.bytes >= progress[i - 1]!.bytes)).toBe(true);
  });

  test('a summary of zeros for an empty file', async () => {
    const { sent, send } = recorder();
    expect((await importLines([], send)).summary).toEqual({ lines: 0, bytes: 0, accepted: 0, unchanged: 0, refused: 0 });
    expect(sent).toEqual([]);
  });
});

describe('an import that fails', () => {
  test('reports the number of the last finished line', async () => {
    const failure = new ServiceError('permission_denied', 'no');
    const send: Send = async ({ lines }) => {
      if (lines[0]!.number > 2) throw failure;
      return { accepted: lines.length, unchanged: 0, errors: [] };
    };
    const stopped = await importLines([org('a'), user('a', '1'), call('a', '1'), user('a', '2')], send).catch(
      (error: unknown) => error,
    );
    expect(stopped).toBeInstanceOf(ImportStopped);
    expect(stopped).toMatchObject({ doneThrough: 2, cause: failure });
  });

  test('still counts the lines of batches in flight as finished if reading the file fails', async () => {
    async function* broken() {
      yield Buffer.from(`${JSON.stringify(org('a'))}\n${JSON.stringify(user('a', '1'))}\n`);
      throw new Error('disk');
    }
    const { send } = recorder();
    const stopped = await run(broken(), send, { refused: () => undefined, progress: () => undefined }).catch(
      (error: unknown) => error,
    );
    expect(stopped).toMatchObject({ doneThrough: 1, cause: new Error('disk') });
  });
});

test('reading waits for the services, so at most two windows and the batches in flight are in memory', async () => {
  let read = 0;
  let stored = 0;
  let maxInMemory = 0;
  const line = Buffer.from(`${JSON.stringify(call('a', 'c', {}, { summary: 'x'.repeat(MIB) }))}\n`);
  async function* file() {
    for (; read < 200; read++) {
      maxInMemory = Math.max(maxInMemory, read - stored);
      yield line;
    }
  }
  const send: Send = async ({ lines }) => {
    await new Promise((resolve) => setTimeout(resolve, 1));
    stored += lines.length;
    return { accepted: lines.length, unchanged: 0, errors: [] };
  };
  await run(file(), send, { refused: () => undefined, progress: () => undefined });
  expect(stored).toBe(200);
  expect(maxInMemory).toBeLessThanOrEqual(2 * 16 + 3 * 16 + 1);
});
