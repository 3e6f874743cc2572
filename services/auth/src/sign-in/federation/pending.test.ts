import { afterEach, expect, test, vi } from 'vitest';
import { Seal } from '@crs/kit/data/seal';
import { parseSecrets } from '@crs/kit/process/secrets';
import { decryptPending, encryptPending, PENDING_MS } from './pending.ts';

const SECRET = 'a-secret-for-tests-that-is-long-enough';
const sealOf = (secrets: string) => new Seal(parseSecrets(secrets), 'federated-sign-in');
const pending = { organization: 'acme', issuer: 'https://idp.example', uid: 'x', state: 's', nonce: 'n', codeVerifier: 'v' };
const seal = sealOf(SECRET);
afterEach(() => vi.useRealTimers());

test('any replica decrypts a pending sign-in', () => {
  expect(decryptPending(sealOf(SECRET), encryptPending(seal, pending))).toEqual(pending);
  const withoutUid = { ...pending, uid: undefined };
  expect(decryptPending(seal, encryptPending(seal, withoutUid))).toEqual(withoutUid);
});

test('a pending sign-in expires after ten minutes', () => {
  vi.useFakeTimers();
  const cookie = encryptPending(seal, pending);
  vi.advanceTimersByTime(PENDING_MS - 1);
  expect(decryptPending(seal, cookie)).toEqual(pending);
  vi.advanceTimersByTime(1);
  expect(decryptPending(seal, cookie)).toBeUndefined();
});

test('only a cookie that one of our secrets encrypted counts', () => {
  const cookie = encryptPending(seal, pending);
  for (const other of [undefined, '', 'x', cookie.slice(1), `${cookie.slice(0, -4)}AAAA`])
    expect(decryptPending(seal, other)).toBeUndefined();
  expect(decryptPending(sealOf(`${SECRET}x`), cookie)).toBeUndefined();
  expect(decryptPending(sealOf(`b:${SECRET}x,0:${SECRET}`), cookie), 'the secret has become the second one').toEqual(pending);
});
