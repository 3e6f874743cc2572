import { afterEach, expect, test, vi } from 'vitest';
import { parseSecrets } from '@crs/kit/process/secrets';
import { BEGUN_MS, BegunSeal } from './begun.ts';

const SECRET = 'a-secret-for-tests-that-is-long-enough';
const sealOf = (secrets: string) => new BegunSeal(parseSecrets(secrets));
const begun = { organization: 'acme', issuer: 'https://idp.example', uid: 'x', state: 's', nonce: 'n', codeVerifier: 'v' };
const seal = sealOf(SECRET);
afterEach(() => vi.useRealTimers());

test('what is under way comes back from its cookie, at any replica', () => {
  expect(sealOf(SECRET).open(seal.close(begun))).toEqual(begun);
  expect(seal.open(seal.close({ ...begun, uid: undefined }))).toEqual({ ...begun, uid: undefined });
});

test('it is over after ten minutes', () => {
  vi.useFakeTimers();
  const value = seal.close(begun);
  vi.advanceTimersByTime(BEGUN_MS - 1);
  expect(seal.open(value)).toEqual(begun);
  vi.advanceTimersByTime(1);
  expect(seal.open(value)).toBeUndefined();
});

test('it is ours alone', () => {
  const value = seal.close(begun);
  for (const other of [undefined, '', 'x', value.slice(1), `${value.slice(0, -4)}AAAA`]) expect(seal.open(other)).toBeUndefined();
  expect(sealOf(`${SECRET}x`).open(value)).toBeUndefined();
  expect(sealOf(`b:${SECRET}x,0:${SECRET}`).open(value), 'the secret has become the second one').toEqual(begun);
});
