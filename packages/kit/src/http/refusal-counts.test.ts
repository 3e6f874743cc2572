import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createLogger } from '../process/log.ts';
import { RefusalCounts } from './refusal-counts.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function start() {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => {
    const { level: _level, time: _time, service: _service, ...rest } = JSON.parse(line) as Record<string, unknown>;
    lines.push(rest);
  };
  return { lines, counts: new RefusalCounts(createLogger('gateway', { destination: { write } })) };
}

const guess = { status: 401, client_address: '192.0.2.1', credential: '0123456789ab' };
const over = { status: 429, client_address: '192.0.2.1' };
const tallyOf = (line: typeof over) => ({ ...line, count: 0 });

it('a repeated refusal has one line a second, with its count', () => {
  const { lines, counts } = start();
  const guesses = tallyOf(guess);
  for (let n = 0; n < 499; n++) counts.count(guesses);
  for (let n = 0; n < 3; n++) counts.count(tallyOf(over));
  counts.count(tallyOf({ ...guess, client_address: '192.0.2.2' }));
  // The gateway forgets a sender after a second, which may be in the midst of the log's second.
  counts.count(tallyOf(guess));
  expect(lines).toEqual([]);
  vi.advanceTimersByTime(1_000);
  expect(lines).toEqual([
    { ...guess, count: 500, msg: 'refused again' },
    { ...over, count: 3, msg: 'refused again' },
    { ...guess, client_address: '192.0.2.2', count: 1, msg: 'refused again' },
  ]);
  vi.advanceTimersByTime(10_000);
  expect(lines).toHaveLength(3);
  counts.count(guesses);
  vi.advanceTimersByTime(1_000);
  expect(lines[3]).toEqual({ ...guess, count: 1, msg: 'refused again' });
});

it('strangers with ever new addresses and credentials get at most a thousand lines a second, and none goes uncounted', () => {
  const { lines, counts } = start();
  for (let n = 0; n < 50_000; n++) counts.count(tallyOf({ ...guess, client_address: `2001:db8:0:${n.toString(16)}::/64` }));
  for (let n = 0; n < 7; n++) counts.count(tallyOf({ ...over, client_address: '198.51.100.1' }));
  vi.advanceTimersByTime(1_000);
  expect(lines).toHaveLength(1_002);
  expect(lines.slice(-2)).toEqual([
    { status: 401, count: 49_000, msg: 'refused again' },
    { status: 429, count: 7, msg: 'refused again' },
  ]);
});

it('a stop logs the counts at once', () => {
  const { lines, counts } = start();
  counts.count(tallyOf(guess));
  counts.flush();
  expect(lines).toEqual([{ ...guess, count: 1, msg: 'refused again' }]);
});
