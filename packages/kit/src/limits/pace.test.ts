import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Bulkhead, type Release } from './bulkhead.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A bulkhead that gives a key slots slowly beside others; work holds its slot until it is released, or for `ms`. */
function create({ perKey = 32, atOnce = 2, waiting = 1_000 } = {}) {
  let late = 0;
  const now = () => performance.now() + late;
  const bulkhead = new Bulkhead({
    name: 'test',
    perKey,
    atOnce,
    total: 512,
    waitingPerKey: waiting,
    waitingTotal: waiting,
    now,
  });
  const counts = { admitted: 0, refused: 0, mostAtOnce: 0, names: [] as string[] };
  const releases: Release[] = [];
  const ask = (key: string, { ms = 5_000, work, name }: { ms?: number; work?: number; name?: string } = {}) => {
    const admit = (release: Release) => {
      counts.admitted++;
      if (name !== undefined) counts.names.push(name);
      releases.push(release);
      counts.mostAtOnce = Math.max(counts.mostAtOnce, releases.length);
      if (work !== undefined) setTimeout(() => releases.splice(releases.indexOf(release), 1)[0]!(), work);
    };
    const slot = bulkhead.acquire(key, { deadline: now() + ms });
    if (slot instanceof Promise) slot.then(admit, () => counts.refused++);
    else admit(slot);
  };
  const askOften = (times: number, key: string, options?: { ms?: number; work?: number }) => {
    for (let n = 0; n < times; n++) ask(key, options);
  };
  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
  const delayTimers = (ms: number) => void (late += ms);
  return { counts, releases, ask, askOften, pass, delayTimers };
}

it('a key that asks alone gets all its slots at once', async () => {
  const { counts, askOften, pass } = create();
  askOften(40, 'a');
  await pass(0);
  expect(counts.admitted).toBe(32);
});

it('beside others a key gets two slots at once, and a further one each 25 ms', async () => {
  const { counts, ask, askOften, pass } = create();
  ask('b', { work: 0 });
  await pass(0);
  askOften(40, 'a');
  await pass(24);
  expect(counts.admitted).toBe(1 + 2);
  await pass(1);
  expect(counts.admitted).toBe(1 + 3);
  await pass(25);
  expect(counts.admitted).toBe(1 + 4);
  // In the end all its slots, and no more.
  await pass(1_000);
  expect(counts.admitted).toBe(1 + 32);
});

it.each([
  [10, 20],
  [20, 25],
])(
  'work of %d ms makes room after %d ms: a rest is as long as the work, but ends when the next slot is due',
  async (work, due) => {
    const { counts, ask, askOften, pass } = create({ atOnce: 1 });
    ask('b', { work: 0 });
    await pass(0);
    askOften(10, 'a', { work });
    await pass(due - 1);
    expect(counts.admitted).toBe(1 + 1);
    await pass(1);
    expect(counts.admitted).toBe(1 + 2);
  },
);

it('a key that asks alone does not rest', async () => {
  const { counts, askOften, pass } = create({ perKey: 1, atOnce: 1 });
  askOften(10, 'a', { work: 10 });
  await pass(10);
  expect(counts.admitted).toBe(2);
});

it('other keys count for 10 s after they asked', async () => {
  for (const [seconds, admitted] of [
    [10, 2],
    [10.001, 32],
  ] as const) {
    const { counts, ask, askOften, pass } = create();
    ask('b', { work: 0 });
    await pass(seconds * 1_000);
    askOften(40, 'a');
    await pass(0);
    expect(counts.admitted).toBe(1 + admitted);
    await vi.runOnlyPendingTimersAsync();
  }
});

it('slots that are free again from others are found when they are due, without another event', async () => {
  const { counts, ask, askOften, pass } = create();
  ask('b', { work: 0 });
  await pass(9_990);
  askOften(40, 'a');
  await pass(25);
  // The others are gone by now.
  expect(counts.admitted).toBe(1 + 32);
});

it('a newcomer does not overtake work that waits, even where a timer is late', async () => {
  const { counts, ask, askOften, pass, delayTimers } = create();
  ask('b', { work: 0 });
  await pass(0);
  askOften(3, 'a');
  delayTimers(25);
  ask('a', { name: 'newcomer' });
  await pass(0);
  expect([counts.admitted, counts.names]).toEqual([1 + 3, []]);
});

it.each([2, 5, 20, 50, 100, 150, 180, 200])(
  'a burst of 600 that all slots serve in time is served in time beside others, too, where each takes %d ms',
  async (work) => {
    const { counts, ask, askOften, pass } = create({ atOnce: 1 });
    ask('b', { work: 0 });
    await pass(1);
    askOften(600, 'a', { work });
    await pass(5_000);
    expect([counts.admitted, counts.refused]).toEqual([1 + 600, 0]);
    if (work <= 5) expect(counts.mostAtOnce).toBe(1);
    expect(vi.getTimerCount()).toBe(0);
  },
);
