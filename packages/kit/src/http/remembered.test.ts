import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it, onTestFinished, vi } from 'vitest';
import { Bulkhead } from '../limits/bulkhead.ts';
import { ServiceError } from '../errors.ts';
import { Remembered } from './remembered.ts';

const REFUSED = 100;

it('a refused credential stays in memory only as its digest and the refusal', async () => {
  const errors: WeakRef<Error>[] = [];
  const ask = async (): Promise<never> => {
    const error = new ServiceError('unauthenticated', 'unknown', { reason: 'INVALID_API_KEY' });
    errors.push(new WeakRef(error));
    throw error;
  };
  const strangers = new Bulkhead({ name: 'test', perKey: 1, total: 1, waitingPerKey: 1, waitingTotal: 1 });
  const remembered = new Remembered(ask, strangers);
  const bearer = { deadline: Date.now() + 5_000, address: () => '127.0.0.1' };
  const refusalOf = (n: number) =>
    remembered.get(`digest ${n}`, `credential ${n}`, bearer).then(
      () => 'none',
      ({ kind, message, reason }: ServiceError) => [kind, message, reason].join(),
    );
  const first: string[] = [];
  for (let n = 0; n < REFUSED; n++) first.push(await refusalOf(n));
  // An error that is kept would keep, by its stack, the calls' arguments: credentials and buffers.
  setFlagsFromString('--expose-gc');
  await new Promise((resolve) => setTimeout(resolve, 0));
  (runInNewContext('gc') as () => void)();
  expect(errors.filter((error) => error.deref() !== undefined).length).toBeLessThan(REFUSED / 10);
  // The refusal is repeated from memory, with the same words.
  expect(await refusalOf(REFUSED - 1)).toBe(first.at(-1));
  expect(first[0]).toBe('unauthenticated,unknown,INVALID_API_KEY');
  expect(errors).toHaveLength(REFUSED);
});

it('an answer that is recalled all the time is asked for again before it is too old', async () => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'Date'] });
  onTestFinished(() => void vi.useRealTimers());
  let asked = 0;
  const strangers = new Bulkhead({ name: 'test', perKey: 1, total: 1, waitingPerKey: 1, waitingTotal: 1 });
  const remembered = new Remembered(async () => ++asked, strangers);
  const address = '127.0.0.1';
  await remembered.get('digest', 'credential', { deadline: Date.now() + 5_000, address: () => address });
  const recall = () => remembered.recall('digest', () => 'credential', address)?.answer;
  const recalled = new Set<number | undefined>();
  for (let ms = 0; ms < 1_900; ms += 20) {
    recalled.add(recall());
    await vi.advanceTimersByTimeAsync(20);
  }
  expect([...recalled]).toEqual([1, 2, 3]);
  // Nobody recalls it any more, so it is too old after a second.
  await vi.advanceTimersByTimeAsync(1_001);
  expect(recall()).toBeUndefined();
  expect(asked).toBe(3);
});
