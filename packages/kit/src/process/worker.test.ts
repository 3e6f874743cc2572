import { describe, expect, it } from 'vitest';
import { runInWorker, type WorkerTask } from './worker.ts';

const task = <Output>(source: string): WorkerTask<unknown, Output> => ({
  url: `data:text/javascript,${encodeURIComponent(`export const run = ${source};`)}`,
  run: () => expect.fail('The task runs in this thread.'),
});
const sum = task<number>('([a, b]) => a + b');

describe('the worker thread', () => {
  it('returns to each task its own result', async () => {
    const sums = Array.from({ length: 20 }, (_, i) => runInWorker(sum, [i, 1]));
    expect(await Promise.all(sums)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
  });

  it('transfers byte arrays, and copies those that share a buffer', async () => {
    const bytes = task<{ large: Uint8Array; small: Uint8Array[] }>(
      `() => ({ large: new Uint8Array(100_000).fill(1), small: [Buffer.from('a'), Buffer.from('b')] })`,
    );
    const { large, small } = await runInWorker(bytes, null);
    expect(large).toEqual(new Uint8Array(100_000).fill(1));
    expect(small.map((each) => Buffer.from(each).toString())).toEqual(['a', 'b']);
  });

  it('survives a task that throws, and runs the next one', async () => {
    const wrong = task(`() => { throw new TypeError('wrong'); }`);
    const [failed, next] = await Promise.allSettled([runInWorker(wrong, null), runInWorker(sum, [1, 2])]);
    expect(failed).toMatchObject({ status: 'rejected', reason: { name: 'TypeError', message: 'wrong' } });
    expect(next).toEqual({ status: 'fulfilled', value: 3 });
  });
});
