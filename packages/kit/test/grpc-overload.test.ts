import { expect, it } from 'vitest';
import { deadlineExceeded, overloaded, REASONS, unavailable, type ServiceError } from '../src/errors.ts';
import { callerOf, OK, REQUEST, startService } from './_service.ts';

/** A service that succeeds for the domain `well` and fails for any other, and a client that retries. */
async function start(failure: () => ServiceError) {
  let received = 0;
  const service = await startService(async ({ domain }) => {
    received++;
    if (domain !== 'well') throw failure();
    return OK;
  });
  const call = callerOf(service.address, { retry: true });
  return { call: (domain: string) => call({}, { ...REQUEST, domain }), received: () => received };
}

it.each([
  ['refused because of overload', overloaded, { kind: 'resource_exhausted', reason: 'OVERLOADED' }],
  [
    'too slow because of its own size',
    () => deadlineExceeded(undefined, REASONS.slowWork),
    { kind: 'deadline_exceeded', reason: REASONS.slowWork },
  ],
])('work that is %s is not retried, and does not count against the health of the target', async (_, failure, expected) => {
  const { call, received } = await start(failure);
  for (let n = 0; n < 100; n++) await expect(call('overloaded')).rejects.toMatchObject(expected);
  expect(received()).toBe(100);
  await expect(call('well')).resolves.toBeDefined();
});

it('a call to an unavailable target is retried; after many failures calls to it fail without being sent', async () => {
  const { call, received } = await start(() => unavailable('It is down.'));
  await expect(call('ill')).rejects.toMatchObject({ kind: 'unavailable' });
  expect(received()).toBe(3);
  await Promise.allSettled(Array.from({ length: 40 }, () => call('ill')));
  await expect(call('well')).rejects.toMatchObject({ kind: 'unavailable' });
});
