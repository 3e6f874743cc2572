import { afterEach, expect, test, vi } from 'vitest';
import { Encrypter } from '@crs/kit/data/encrypter';
import { parseSecrets } from '@crs/kit/process/secrets';
import { decryptPending, encryptPending, PENDING_MS } from './pending.ts';

const SECRET = 'a-secret-for-tests-that-is-long-enough';
const encrypterOf = (secrets: string) => new Encrypter(parseSecrets(secrets), 'federated-sign-in');
const pending = { organization: 'acme', issuer: 'https://idp.example', uid: 'x', state: 's', nonce: 'n', codeVerifier: 'v' };
const encrypter = encrypterOf(SECRET);
afterEach(() => vi.useRealTimers());

test('any replica decrypts a pending sign-in', () => {
  expect(decryptPending(encrypterOf(SECRET), encryptPending(encrypter, pending))).toEqual(pending);
  const withoutUid = { ...pending, uid: undefined };
  expect(decryptPending(encrypter, encryptPending(encrypter, withoutUid))).toEqual(withoutUid);
});

test('a pending sign-in expires after ten minutes', () => {
  vi.useFakeTimers();
  const cookie = encryptPending(encrypter, pending);
  vi.advanceTimersByTime(PENDING_MS - 1);
  expect(decryptPending(encrypter, cookie)).toEqual(pending);
  vi.advanceTimersByTime(1);
  expect(decryptPending(encrypter, cookie)).toBeUndefined();
});

test('only a cookie that one of our secrets encrypted counts', () => {
  const cookie = encryptPending(encrypter, pending);
  for (const other of [undefined, '', 'x', cookie.slice(1), `${cookie.slice(0, -4)}AAAA`])
    expect(decryptPending(encrypter, other)).toBeUndefined();
  expect(decryptPending(encrypterOf(`${SECRET}x`), cookie)).toBeUndefined();
  expect(decryptPending(encrypterOf(`b:${SECRET}x,0:${SECRET}`), cookie), 'the secret has become the second one').toEqual(
    pending,
  );
});
