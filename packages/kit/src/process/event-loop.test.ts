import { expect, test } from 'vitest';
import { timeSlices } from './event-loop.ts';

/** Counts the turns of the event loop. */
function countTurns() {
  const turns = { count: 0, stop: () => clearImmediate(next) };
  let next = setImmediate(count);
  function count() {
    turns.count++;
    next = setImmediate(count);
  }
  return turns;
}

function holdLoop(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end;);
}

test('each long step of concurrent tasks runs in its own turn of the event loop', async () => {
  const turns = countTurns();
  const seen: number[] = [];
  const work = async () => {
    const yieldWhenDue = timeSlices();
    for (let step = 0; step < 5; step++) {
      await yieldWhenDue();
      seen.push(turns.count);
      holdLoop(6);
    }
  };
  await Promise.all([work(), work(), work()]);
  turns.stop();
  expect(seen.length).toBe(15);
  expect(new Set(seen).size).toBe(15);
});

test('short steps share a turn of the event loop', async () => {
  const turns = countTurns();
  const yieldWhenDue = timeSlices();
  for (let step = 0; step < 1_000; step++) await yieldWhenDue();
  turns.stop();
  expect(turns.count).toBeLessThan(500);
});
