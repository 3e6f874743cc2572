import type { OrganizationIdentity } from '@crs/kit/rpc/identity';
import type { GetViewSettingsResponse } from '@crs/proto/crs/auth/v1/auth';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { CurrentSettings } from './view-settings.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

const ACME = { organization: 'acme' } as OrganizationIdentity;
const CALL = { token: 'token' };

/** A fake auth service. The test resolves its n-th response with `respond(n)`. */
function fakeAuth(validMs: number) {
  const requests: PromiseWithResolvers<GetViewSettingsResponse>[] = [];
  const auth = {
    getViewSettings: () => {
      const response = Promise.withResolvers<GetViewSettingsResponse>();
      requests.push(response);
      return response.promise;
    },
  };
  const respond = (n: number) =>
    requests[n]!.resolve({ allowedFields: [], anonymize: false, version: n, changedAt: new Date(0), validMs });
  return {
    requests,
    respond,
    settings: new CurrentSettings(auth as unknown as ConstructorParameters<typeof CurrentSettings>[0]),
  };
}

const versions = async (settings: Promise<{ version: number }>[]) => (await Promise.all(settings)).map(({ version }) => version);
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

test('if responses may not be reused, a caller that arrives during a request shares the next request instead', async () => {
  const { requests, respond, settings } = fakeAuth(0);
  const first = settings.of(ACME, CALL);
  vi.advanceTimersByTime(1);
  const later = [settings.of(ACME, CALL), settings.newest(ACME, CALL)];
  const elsewhere = settings.of({ ...ACME, organization: 'globex' }, CALL);
  await nextTurn();
  // One for `first`, one that both later callers share, and one for the other organization.
  expect(requests).toHaveLength(3);
  respond(2);
  respond(0);
  expect(await versions([first, elsewhere])).toEqual([0, 2]);
  respond(1);
  expect(await versions(later)).toEqual([1, 1]);
  expect(requests).toHaveLength(3);
});

test('a response is reused while it is valid, counted from the start of its request', async () => {
  const { requests, respond, settings } = fakeAuth(100);
  const first = settings.of(ACME, CALL);
  vi.advanceTimersByTime(90);
  const second = settings.of(ACME, CALL);
  respond(0);
  expect(await versions([first, second])).toEqual([0, 0]);
  vi.advanceTimersByTime(10);
  expect(await versions([settings.of(ACME, CALL)])).toEqual([0]);
  expect(requests).toHaveLength(1);
  vi.advanceTimersByTime(1);
  const third = settings.of(ACME, CALL);
  await nextTurn();
  respond(1);
  expect(await versions([third])).toEqual([1]);
});

test('newest() sends a new request, even while a cached response is valid', async () => {
  const { requests, respond, settings } = fakeAuth(100);
  const first = settings.of(ACME, CALL);
  respond(0);
  await first;
  vi.advanceTimersByTime(1);
  const newest = settings.newest(ACME, CALL);
  await nextTurn();
  expect(requests).toHaveLength(2);
  respond(1);
  expect(await versions([newest])).toEqual([1]);
  expect(await versions([settings.of(ACME, CALL)])).toEqual([1]);
  expect(requests).toHaveLength(2);
});

test('a failed request fails only the callers that shared it', async () => {
  const { requests, respond, settings } = fakeAuth(100);
  const first = settings.of(ACME, CALL);
  vi.advanceTimersByTime(1);
  const later = settings.of(ACME, CALL);
  await nextTurn();
  requests[0]!.reject(new Error('down'));
  await expect(first).rejects.toThrow('down');
  await nextTurn();
  respond(1);
  expect(await versions([later])).toEqual([1]);
});
