import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createLogger } from '../process/log.ts';
import { RefusalCounts } from './refusal-counts.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function start() {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => {
    const {
      level: _level,
      severity: _severity,
      time: _time,
      service: _service,
      ...rest
    } = JSON.parse(line) as Record<string, unknown>;
    lines.push(rest);
  };
  return { lines, counts: new RefusalCounts(createLogger('gateway', { destination: { write } })) };
}

const guess = { status: 401, client_address: '192.0.2.1', credential: '0123456789ab' };
const over = { status: 429, client_address: '192.0.2.1' };
const other = { ...guess, client_address: '192.0.2.2' };

it("a client's first refusal in a second gets its own log line, and the rest of that second share one with a count", () => {
  const { lines, counts } = start();
  const firsts = [...Array<typeof guess>(500).fill(guess), over, over, over, other].filter((client) => counts.count(client));
  expect(firsts).toEqual([guess, over, other]);
  expect(lines).toEqual([]);
  vi.advanceTimersByTime(1_000);
  expect(lines).toEqual([
    { ...guess, count: 499, msg: 'refused again' },
    { ...over, count: 2, msg: 'refused again' },
  ]);
  vi.advanceTimersByTime(10_000);
  expect(lines).toHaveLength(2);
  expect(counts.count(guess)).toBe(true);
});

it('refusals from ever new addresses get at most a thousand log lines a second, and all are counted', () => {
  const { lines, counts } = start();
  let logged = 0;
  for (let n = 0; n < 50_000; n++) if (counts.count({ ...guess, client_address: `2001:db8:0:${n.toString(16)}::/64` })) logged++;
  for (let n = 0; n < 7; n++) counts.count({ ...over, client_address: '198.51.100.1' });
  vi.advanceTimersByTime(1_000);
  expect(logged).toBe(1_000);
  expect(lines).toEqual([
    { status: 401, count: 49_000, msg: 'refused again' },
    { status: 429, count: 7, msg: 'refused again' },
  ]);
});

it('counts that are not logged yet are logged when the gateway stops', () => {
  const { lines, counts } = start();
  counts.count(guess);
  counts.count(guess);
  counts.flush();
  expect(lines).toEqual([{ ...guess, count: 1, msg: 'refused again' }]);
  vi.advanceTimersByTime(10_000);
  expect(lines).toHaveLength(1);
});
