import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FairQueue, type Release } from './fair-queue.ts';
import { deadlineExceeded } from '../errors.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const OVERLOADED = { kind: 'resource_exhausted', reason: 'OVERLOADED' };

interface Sizes {
  perKey?: number;
  total?: number;
  waitingPerKey?: number;
  waitingTotal?: number;
  countedMs?: number;
}

function create({ perKey = 2, total = 100, waitingPerKey = 100, waitingTotal = 100, countedMs }: Sizes = {}) {
  const sizes = { name: 'test', perKey, total, waitingPerKey, waitingTotal };
  const queue = new FairQueue({ ...sizes, ...(countedMs !== undefined && { countedMs }) });
  const admitted: string[] = [];
  const refused: [string, unknown][] = [];
  /** The release function of each admitted work item, by its name. */
  const releases = new Map<string, Release>();
  return {
    admitted,
    refused,
    ask: (key: string, name: string, { ms = 5_000, signal }: { ms?: number; signal?: AbortSignal } = {}) => {
      const wanted = { deadline: Date.now() + ms, ...(signal && { signal }) };
      const admit = (release: Release) => {
        admitted.push(name);
        releases.set(name, release);
      };
      const slot = queue.acquire(key, wanted);
      if (slot instanceof Promise) slot.then(admit, (error: unknown) => refused.push([name, error]));
      else admit(slot);
    },
    release: async (name: string) => {
      releases.get(name)!();
      await vi.advanceTimersByTimeAsync(0);
    },
    pass: (ms: number) => vi.advanceTimersByTimeAsync(ms),
  };
}

const names = (prefix: string, count: number) => Array.from({ length: count }, (_, n) => `${prefix}${n + 1}`);

describe('the slots of a key', () => {
  it('are assigned immediately, without a timer; further work waits for the first free slot', async () => {
    const { ask, admitted, release, pass } = create({ perKey: 32 });
    for (const name of names('a', 32)) ask('a', name);
    expect(admitted).toEqual(names('a', 32));
    expect(vi.getTimerCount()).toBe(0);
    ask('a', 'a33');
    ask('b', 'b1');
    await pass(1_000);
    expect(admitted.slice(32)).toEqual(['b1']);
    await release('a7');
    expect(admitted.slice(33)).toEqual(['a33']);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('are assigned in the order of arrival', async () => {
    const { ask, admitted, release } = create({ perKey: 1 });
    for (const name of names('a', 4)) ask('a', name);
    for (const name of names('a', 3)) await release(name);
    expect(admitted).toEqual(names('a', 4));
  });

  it('are freed only once, even if release is called twice', async () => {
    const { ask, admitted, release } = create({ perKey: 1 });
    for (const name of names('a', 3)) ask('a', name);
    await release('a1');
    await release('a1');
    expect(admitted).toEqual(['a1', 'a2']);
  });

  it('eventually serve a whole burst that fits into the queue', async () => {
    const { ask, admitted, refused, release } = create({ perKey: 32, waitingPerKey: 1_000, waitingTotal: 2_000 });
    for (const name of names('a', 600)) ask('a', name);
    for (const name of names('a', 600)) await release(name);
    expect(admitted).toEqual(names('a', 600));
    expect(refused).toEqual([]);
  });
});

describe('work that exceeds countedMs', () => {
  it('no longer occupies a slot, so other work runs at the same time, including work of its own key', async () => {
    const { ask, admitted, release, pass } = create({ perKey: 1, total: 2, countedMs: 250 });
    for (const name of ['a1', 'a2', 'b1', 'c1']) ask(name[0]!, name);
    await pass(249);
    expect(admitted).toEqual(['a1', 'b1']);
    await pass(1);
    // a has just had a turn.
    expect(admitted.slice(2)).toEqual(['c1', 'a2']);
    // Releasing a1 frees no slot, because a1 no longer occupied one.
    ask('d', 'd1');
    await release('a1');
    expect(admitted.slice(4)).toEqual([]);
    await release('a2');
    expect(admitted.slice(4)).toEqual(['d1']);
  });
});

describe('waiting work', () => {
  it("is refused when its key's queue is full, and earlier work keeps its place", async () => {
    const { ask, admitted, refused, release } = create({ perKey: 1, waitingPerKey: 3 });
    for (const name of names('a', 4)) ask('a', name);
    expect(refused).toEqual([]);
    ask('a', 'a5');
    await vi.advanceTimersByTimeAsync(0);
    expect(refused).toEqual([['a5', expect.objectContaining(OVERLOADED)]]);
    for (const name of names('a', 3)) await release(name);
    expect(admitted).toEqual(names('a', 4));
    ask('a', 'a6');
    await release('a4');
    expect(admitted.at(-1)).toBe('a6');
  });

  it('is refused with varying Retry-After times, so that clients do not all return at once', async () => {
    const { ask, refused, pass } = create({ perKey: 1, waitingPerKey: 0 });
    for (const name of names('a', 100)) ask('a', name);
    await pass(0);
    const seconds = refused.map(([, error]) => (error as { retryAfterSeconds: number }).retryAfterSeconds);
    expect(new Set(seconds)).toEqual(new Set([1, 2, 3]));
  });

  it('is refused once four fifths of its time are used up', async () => {
    const { ask, refused, admitted, release, pass } = create({ perKey: 1 });
    ask('a', 'a1');
    ask('a', 'a2', { ms: 5_000 });
    ask('a', 'a3', { ms: 10_000 });
    await pass(3_999);
    expect(refused).toEqual([]);
    await pass(1);
    expect(refused).toEqual([['a2', expect.objectContaining(OVERLOADED)]]);
    await pass(3_999);
    await release('a1');
    expect(admitted).toEqual(['a1', 'a3']);
    await pass(10_000);
    expect(refused).toHaveLength(1);
  });

  it('leaves the queue when its signal is aborted', async () => {
    const { ask, refused, admitted, release } = create({ perKey: 1 });
    const [timedOut, cancelled] = [new AbortController(), new AbortController()];
    ask('a', 'a1');
    ask('a', 'a2', { signal: timedOut.signal });
    ask('a', 'a3', { signal: cancelled.signal });
    ask('a', 'a4');
    const reason = deadlineExceeded();
    timedOut.abort(reason);
    cancelled.abort();
    await release('a1');
    expect(admitted).toEqual(['a1', 'a4']);
    expect(refused).toEqual([
      ['a2', reason],
      // The reason of an abort that isn't an error of ours: nobody waits for an answer.
      ['a3', expect.objectContaining({ kind: 'deadline_exceeded' })],
    ]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is refused if its signal is already aborted', () => {
    const { ask } = create();
    const reason = deadlineExceeded();
    expect(() => ask('a', 'a1', { signal: AbortSignal.abort(reason) })).toThrow(reason);
  });

  it('keeps its slot if its signal is aborted after admission', async () => {
    const { ask, refused, admitted, release, pass } = create({ perKey: 1, waitingTotal: 1 });
    const client = new AbortController();
    ask('a', 'a1');
    ask('a', 'a2', { signal: client.signal });
    await release('a1');
    client.abort();
    await pass(10_000);
    expect([admitted, refused]).toEqual([['a1', 'a2'], []]);
    // The queue has exactly one free place: the abort neither took nor freed one.
    ask('a', 'a3');
    await pass(0);
    expect(refused).toEqual([]);
    ask('a', 'a4');
    await pass(0);
    expect(refused.map(([name]) => name)).toEqual(['a4']);
  });
});

describe('all keys together', () => {
  it('take turns at the slots, even if one key has a long queue', async () => {
    const { ask, admitted, release } = create({ perKey: 4, total: 4 });
    for (const name of names('a', 10)) ask('a', name);
    for (const name of names('b', 3)) ask('b', name);
    ask('c', 'c1');
    expect(admitted).toEqual(names('a', 4));
    for (let n = 0; n < 9; n++) await release(admitted[n]!);
    expect(admitted.slice(4)).toEqual(['b1', 'c1', 'a5', 'b2', 'a6', 'b3', 'a7', 'a8', 'a9']);
  });

  it('leave a free slot to other keys if the key whose work has waited longest is at its own limit', async () => {
    const { ask, admitted, release } = create({ perKey: 2, total: 3 });
    for (const name of names('a', 5)) ask('a', name);
    for (const name of names('b', 3)) ask('b', name);
    expect(admitted).toEqual(['a1', 'a2', 'b1']);
    await release('a1');
    // a waits at the end of the turns, because it was at its limit.
    expect(admitted.slice(3)).toEqual(['b2']);
    await release('b1');
    expect(admitted.slice(4)).toEqual(['a3']);
  });

  it('share one bound on waiting work: the newest in the longest queue is refused', async () => {
    const { ask, admitted, refused, release } = create({ perKey: 1, total: 1, waitingTotal: 4 });
    for (const name of names('a', 4)) ask('a', name);
    ask('b', 'b1');
    expect(refused).toEqual([]);
    ask('b', 'b2');
    await vi.advanceTimersByTimeAsync(0);
    expect(refused).toEqual([['a4', expect.objectContaining(OVERLOADED)]]);
    ask('b', 'b3');
    ask('a', 'a5');
    await vi.advanceTimersByTimeAsync(0);
    expect(refused.slice(1).map(([name]) => name)).toEqual(['b3', 'a5']);
    for (let n = 0; n < 4; n++) await release(admitted[n]!);
    expect(admitted.toSorted()).toEqual(['a1', 'a2', 'a3', 'b1', 'b2']);
  });

  it('share one bound on waiting work: if the longest queues are equal, the newcomer is refused', async () => {
    const { ask, refused } = create({ perKey: 1, total: 1, waitingTotal: 2 });
    for (const name of ['a1', 'b1', 'c1', 'a2']) ask(name[0]!, name);
    await vi.advanceTimersByTimeAsync(0);
    expect(refused.map(([name]) => name)).toEqual(['a2']);
  });

  it('leave no slot occupied and no timer running once all work is done', async () => {
    const { ask, admitted, release, pass } = create({ perKey: 3, total: 5, waitingPerKey: 20, waitingTotal: 30 });
    const released = new Set<string>();
    const releaseAll = async () => {
      for (const name of admitted.filter((each) => !released.has(each))) {
        released.add(name);
        await release(name);
      }
    };
    for (let n = 0; n < 500; n++) {
      const controller = new AbortController();
      ask(`k${n % 7}`, `n${n}`, { ms: 100 + ((n * 37) % 400), signal: controller.signal });
      if (n % 5 === 0) controller.abort();
      if (n % 3 !== 0) await pass((n * 13) % 20);
      if (n % 2 === 0) await releaseAll();
      expect(admitted.length - released.size).toBeLessThanOrEqual(5);
    }
    await pass(1_000);
    while (released.size < admitted.length) await releaseAll();
    expect(vi.getTimerCount()).toBe(0);
    const before = admitted.length;
    for (const key of ['x', 'x', 'x', 'y', 'y']) ask(key, `${key}${Math.random()}`);
    expect(admitted.length - before).toBe(5);
  });
});
