import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLogger } from '@crs/kit/process/log';
import { startRedis } from '@crs/testing/redis';
import type { CounterStore } from '../src/domain/counter.ts';
import { MemoryStore } from '../src/store/memory-store.ts';
import { RedisStore } from '../src/store/redis-store.ts';

const redis = await startRedis();
afterAll(() => redis?.stop());

interface Subject {
  store: CounterStore;
  pass(ms: number): Promise<void>;
  close?(): Promise<void>;
}

async function inMemory(): Promise<Subject> {
  let now = 5_000;
  return {
    store: new MemoryStore(() => now),
    pass: async (ms) => void (now += ms),
  };
}

async function inRedis(): Promise<Subject> {
  const store = new RedisStore({ url: redis!.url, prefix: '', timeoutMs: 5_000, log: createLogger('test', { level: 'silent' }) });
  await store.open();
  return { store, pass: (ms) => sleep(ms), close: () => store.close() };
}

describe.each([
  { where: 'this process', open: inMemory, runs: true },
  { where: 'Redis', open: inRedis, runs: redis !== undefined },
])('counters in $where', ({ open, runs }) => {
  describe.skipIf(!runs)('keep the contract of CounterStore:', () => {
    const windowMs = 60_000;
    const limit = 1_000;
    let subject: Subject;
    let lastKey = 0;
    const newKey = () => `key-${lastKey++}`;
    beforeAll(async () => void (subject = await open()));
    afterAll(() => subject.close?.());

    it('the returned count includes the hit itself', async () => {
      const key = newKey();
      const counts = [];
      for (let n = 0; n < 3; n++) counts.push((await subject.store.add({ key, amount: 1, windowMs, limit })).count);
      expect(counts).toEqual([1, 2, 3]);
    });

    it('a hit can have a weight above one', async () => {
      const key = newKey();
      await subject.store.add({ key, amount: 5, windowMs, limit });
      expect(await subject.store.add({ key, amount: 3, windowMs, limit })).toMatchObject({ count: 8 });
    });

    it('a hit that exceeds the limit is not counted, so that a smaller one still fits', async () => {
      const key = newKey();
      const results = [];
      for (const amount of [6, 5, 4, 1]) results.push(await subject.store.add({ key, amount, windowMs, limit: 10 }));
      expect(results.map(({ count, allowed }) => [count, allowed])).toEqual([
        [6, true],
        [6, false],
        [10, true],
        [10, false],
      ]);
    });

    it('each key has its own count', async () => {
      await subject.store.add({ key: newKey(), amount: 7, windowMs, limit });
      expect(await subject.store.add({ key: newKey(), amount: 1, windowMs, limit })).toMatchObject({ count: 1 });
    });

    it('concurrent hits each get a different count', async () => {
      const key = newKey();
      const counts = await Promise.all(Array.from({ length: 200 }, () => subject.store.add({ key, amount: 1, windowMs, limit })));
      expect(counts.map(({ count }) => count).toSorted((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, n) => n + 1));
    });

    it('the first hit returns the full window as the time until reset', async () => {
      expect(await subject.store.add({ key: newKey(), amount: 1, windowMs, limit })).toEqual({
        count: 1,
        allowed: true,
        resetInMs: windowMs,
      });
    });

    it('later hits do not move the end of the window', async () => {
      const key = newKey();
      await subject.store.add({ key, amount: 1, windowMs, limit });
      await subject.pass(100);
      const { resetInMs } = await subject.store.add({ key, amount: 1, windowMs, limit });
      // A timer may fire up to a millisecond early.
      expect(resetInMs).toBeLessThanOrEqual(windowMs - 99);
      expect(resetInMs).toBeGreaterThan(windowMs - 20_000);
    });

    it('a hit after the returned reset time opens a new window', async () => {
      const key = newKey();
      const add = (amount: number) => subject.store.add({ key, amount, windowMs: 80, limit });
      await add(9);
      await subject.pass(20);
      const { resetInMs } = await add(9);
      await subject.pass(resetInMs + 1);
      expect(await add(1)).toEqual({ count: 1, allowed: true, resetInMs: 80 });
    });
  });
});
