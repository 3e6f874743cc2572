import type { OrganizationIdentity } from '@crs/kit/rpc/identity';
import type { GetViewSettingsResponse } from '@crs/proto/crs/auth/v1/auth';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { CurrentSettings } from './view-settings.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

const ACME = { organization: 'acme' } as OrganizationIdentity;
const CALL = { token: 'token' };

/** An auth whose answers the test gives. */
function askedAuth(validMs: number) {
  const asked: PromiseWithResolvers<GetViewSettingsResponse>[] = [];
  const auth = {
    getViewSettings: () => {
      const question = Promise.withResolvers<GetViewSettingsResponse>();
      asked.push(question);
      return question.promise;
    },
  };
  const answer = (n: number) =>
    asked[n]!.resolve({ allowedFields: [], anonymize: false, version: n, changedAt: new Date(0), validMs });
  return { asked, answer, settings: new CurrentSettings(auth as unknown as ConstructorParameters<typeof CurrentSettings>[0]) };
}

const versions = async (settings: Promise<{ version: number }>[]) => (await Promise.all(settings)).map(({ version }) => version);
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

test('where answers are valid for no time, a caller who comes while a question is under way gets the answer of a later one', async () => {
  const { asked, answer, settings } = askedAuth(0);
  const first = settings.of(ACME, CALL);
  vi.advanceTimersByTime(1);
  const later = [settings.of(ACME, CALL), settings.newest(ACME, CALL)];
  const elsewhere = settings.of({ ...ACME, organization: 'globex' }, CALL);
  await nextTurn();
  // The second is that of `newest`.
  expect(asked).toHaveLength(3);
  answer(2);
  answer(0);
  expect(await versions([first, elsewhere])).toEqual([0, 2]);
  answer(1);
  expect(await versions(later)).toEqual([1, 1]);
  expect(asked).toHaveLength(3);
});

test('an answer is used again as long as it is valid, counted from its question', async () => {
  const { asked, answer, settings } = askedAuth(100);
  const first = settings.of(ACME, CALL);
  vi.advanceTimersByTime(90);
  const second = settings.of(ACME, CALL);
  answer(0);
  expect(await versions([first, second])).toEqual([0, 0]);
  vi.advanceTimersByTime(10);
  expect(await versions([settings.of(ACME, CALL)])).toEqual([0]);
  expect(asked).toHaveLength(1);
  vi.advanceTimersByTime(1);
  const third = settings.of(ACME, CALL);
  await nextTurn();
  answer(1);
  expect(await versions([third])).toEqual([1]);
});

test('the newest settings are those of a question that begins later', async () => {
  const { asked, answer, settings } = askedAuth(100);
  const first = settings.of(ACME, CALL);
  answer(0);
  await first;
  vi.advanceTimersByTime(1);
  const newest = settings.newest(ACME, CALL);
  await nextTurn();
  expect(asked).toHaveLength(2);
  answer(1);
  expect(await versions([newest])).toEqual([1]);
  expect(await versions([settings.of(ACME, CALL)])).toEqual([1]);
  expect(asked).toHaveLength(2);
});

test('a question that fails fails for those who asked it alone', async () => {
  const { asked, answer, settings } = askedAuth(100);
  const first = settings.of(ACME, CALL);
  vi.advanceTimersByTime(1);
  const later = settings.of(ACME, CALL);
  await nextTurn();
  asked[0]!.reject(new Error('away'));
  await expect(first).rejects.toThrow('away');
  await nextTurn();
  answer(1);
  expect(await versions([later])).toEqual([1]);
});
