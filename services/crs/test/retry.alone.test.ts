import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ServiceError, type ErrorKind } from '@crs/kit/errors';
import { retrying } from '../src/retry.ts';

const BATCH = { service: 'calls', organization: 'acme', lines: [] } as const;
const DONE = { accepted: 0, unchanged: 0, errors: [] };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A service that fails `times` times. Each call takes `callMs`. */
function failing(kind: ErrorKind, times: number, callMs = 0) {
  const started = performance.now();
  let calls = 0;
  let pausedSince = started;
  const pauses: number[] = [];
  const send = retrying(async () => {
    if (calls > 0) pauses.push(performance.now() - pausedSince);
    vi.advanceTimersByTime(callMs);
    pausedSince = performance.now();
    if (++calls <= times) throw new ServiceError(kind, kind);
    return DONE;
  });
  const ended = async () => {
    const sent = Promise.allSettled([send({ ...BATCH, lines: [] })]);
    await vi.runAllTimersAsync();
    const [outcome] = await sent;
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  };
  return { send: ended, calls: () => calls, now: () => performance.now() - started, pauses };
}

test('a conflict is retried four times, with growing pauses', async () => {
  const won = failing('aborted', 4);
  expect(await won.send()).toEqual(DONE);
  const lost = failing('aborted', Infinity);
  await expect(lost.send()).rejects.toMatchObject({ kind: 'aborted' });
  expect(lost.calls()).toBe(5);
  for (const [index, minimum] of [50, 100, 200, 400].entries()) {
    expect(lost.pauses[index]).toBeGreaterThanOrEqual(minimum);
    expect(lost.pauses[index]).toBeLessThanOrEqual(2 * minimum);
  }
});

test.each(['unavailable', 'deadline_exceeded', 'resource_exhausted'] as const)('%s is retried for 30 seconds', async (kind) => {
  const recovered = failing(kind, 10);
  expect(await recovered.send()).toEqual(DONE);
  const down = failing(kind, Infinity);
  await expect(down.send()).rejects.toMatchObject({ kind });
  expect(down.now()).toBeGreaterThanOrEqual(30_000);
  expect(down.now()).toBeLessThan(33_000);
});

test('a call that timed out after more than 30 seconds is retried once', async () => {
  const slow = failing('deadline_exceeded', 1, 35_000);
  expect(await slow.send()).toEqual(DONE);
});

test.each(['invalid_argument', 'permission_denied', 'internal'] as const)('%s is not retried', async (kind) => {
  const refused = failing(kind, 1);
  await expect(refused.send()).rejects.toMatchObject({ kind });
  expect(refused.calls()).toBe(1);
});
