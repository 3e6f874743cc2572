import type { OrganizationIdentity } from '@crs/kit/rpc/identity';
import type { ViewSettings } from '@crs/proto/crs/auth/v1/auth';
import { expect, test } from 'vitest';
import { CurrentSettings } from './view-settings.ts';

const ACME = { organization: 'acme' } as OrganizationIdentity;
const CALL = { token: 'token' };

/** An auth whose answers the test gives. */
function askedAuth() {
  const asked: PromiseWithResolvers<ViewSettings>[] = [];
  const auth = {
    getViewSettings: () => {
      const question = Promise.withResolvers<ViewSettings>();
      asked.push(question);
      return question.promise;
    },
  };
  const answer = (n: number) => asked[n]!.resolve({ allowedFields: [], anonymize: false, version: n, changedAt: new Date(0) });
  return { asked, answer, settings: new CurrentSettings(auth as unknown as ConstructorParameters<typeof CurrentSettings>[0]) };
}

const versions = async (settings: Promise<{ version: number }>[]) => (await Promise.all(settings)).map(({ version }) => version);
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

test('who comes while a question is under way gets the answer of the next one', async () => {
  const { asked, answer, settings } = askedAuth();
  const first = settings.of(ACME, CALL);
  const later = [settings.of(ACME, CALL), settings.of(ACME, CALL)];
  const elsewhere = settings.of({ ...ACME, organization: 'globex' }, CALL);
  expect(asked).toHaveLength(2);
  answer(1);
  answer(0);
  expect(await versions([first, elsewhere])).toEqual([0, 1]);
  await nextTurn();
  expect(asked).toHaveLength(3);
  const last = settings.of(ACME, CALL);
  answer(2);
  expect(await versions(later)).toEqual([2, 2]);
  await nextTurn();
  answer(3);
  expect(await versions([last])).toEqual([3]);
  await nextTurn();
  const anew = settings.of(ACME, CALL);
  expect(asked).toHaveLength(5);
  answer(4);
  expect(await versions([anew])).toEqual([4]);
});

test('a question that fails fails for those who asked it alone', async () => {
  const { asked, answer, settings } = askedAuth();
  const first = settings.of(ACME, CALL);
  const later = settings.of(ACME, CALL);
  asked[0]!.reject(new Error('away'));
  await expect(first).rejects.toThrow('away');
  await nextTurn();
  answer(1);
  expect(await versions([later])).toEqual([1]);
});
