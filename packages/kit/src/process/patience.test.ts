import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Late, Patience } from './patience.ts';

const never = new Promise<never>(() => {});

function block(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

it('work that takes too long is late; other work keeps its result or its error', async () => {
  const patience = new Patience(40);
  const started = performance.now();
  await expect(patience.within(never)).rejects.toThrow(new Late(40));
  expect(performance.now() - started).toBeGreaterThanOrEqual(38);
  expect(await patience.within(Promise.resolve(7))).toBe(7);
  await expect(patience.within(Promise.reject(new Error('its own')))).rejects.toThrow('its own');
});

it('each piece of work has its own time', async () => {
  const patience = new Patience(200);
  const first = patience.within(never).catch(() => performance.now());
  await sleep(100);
  const second = patience.within(sleep(150).then(() => 'in time'));
  await first;
  expect(await second).toBe('in time');
});

it('time in which the process was blocked does not count', async () => {
  const answer = new Patience(40).within(sleep(150).then(() => 'in time'));
  await sleep(5);
  block(140);
  expect(await answer).toBe('in time');
});
