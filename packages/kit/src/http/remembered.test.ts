import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it, vi } from 'vitest';
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

it('while one request asks again about a refused credential, others are refused from memory for a second at most', async () => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout'] });
  try {
    const questions: PromiseWithResolvers<never>[] = [];
    const ask = () => {
      questions.push(Promise.withResolvers());
      return questions.at(-1)!.promise;
    };
    const strangers = new Bulkhead({ name: 'test', perKey: 9, total: 9, waitingPerKey: 1, waitingTotal: 1 });
    const remembered = new Remembered<never>(ask, strangers);
    const bearer = { deadline: Infinity, address: () => '127.0.0.1' };
    const get = () => remembered.get('digest', 'credential', bearer).catch(() => 'refused');
    const first = get();
    await vi.advanceTimersByTimeAsync(5);
    questions[0]!.reject(new ServiceError('unauthenticated', 'unknown', { reason: 'INVALID_API_KEY' }));
    expect(await first).toBe('refused');
    await vi.advanceTimersByTimeAsync(996);
    expect(remembered.recall('digest')).toBe(undefined);
    const again = get();
    expect(remembered.recall('digest')?.refusal?.message).toBe('unknown');
    await vi.advanceTimersByTimeAsync(1_000);
    expect(remembered.recall('digest')).toBe(undefined);
    questions[1]!.reject(new ServiceError('unauthenticated', 'unknown', { reason: 'INVALID_API_KEY' }));
    expect(await again).toBe('refused');
    expect(questions).toHaveLength(2);
  } finally {
    vi.useRealTimers();
  }
});
