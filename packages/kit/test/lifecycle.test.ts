import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it, vi } from 'vitest';
import { Shutdown, runUntilSignal } from '../src/process/lifecycle.ts';
import { createLogger } from '../src/process/log.ts';

const log = createLogger('test', { level: 'silent' });
afterEach(() => vi.restoreAllMocks());

it('a shutdown closes in reverse order, even if one close fails and another hangs', async () => {
  const closed: string[] = [];
  const shutdown = new Shutdown(log);
  shutdown.defer('first', () => closed.push('first'));
  shutdown.defer('hangs', () => new Promise(() => {}), 50);
  shutdown.defer('fails', () => Promise.reject(new Error('no')));
  shutdown.defer('last', () => closed.push('last'));
  await shutdown.run();
  expect(closed).toEqual(['last', 'first']);
});

it('SIGTERM during the start closes everything that the start opens, before and after it', async () => {
  const closed: string[] = [];
  const shutdown = new Shutdown(log);
  const opened = Promise.withResolvers<void>();
  const run = runUntilSignal(
    {
      start: async () => {
        shutdown.defer('first', () => closed.push('first'));
        opened.resolve();
        await sleep(100);
        shutdown.defer('second', () => closed.push('second'));
        throw new Error('the first one is closed');
      },
      stop: () => shutdown.run(),
    },
    log,
  );
  await opened.promise;
  process.emit('SIGTERM');
  await run;
  expect(closed).toEqual(['first', 'second']);
});

it('a start that fails closes everything that it opened, and rejects with its error', async () => {
  const closed: string[] = [];
  const shutdown = new Shutdown(log);
  const start = async () => {
    shutdown.defer('first', () => closed.push('first'));
    throw new Error('no such port');
  };
  await expect(runUntilSignal({ start, stop: () => shutdown.run() }, log)).rejects.toThrow('no such port');
  expect(closed).toEqual(['first']);
});
