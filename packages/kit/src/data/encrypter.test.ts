import { describe, expect, it } from 'vitest';
import { parseSecrets } from '../process/secrets.ts';
import { Encrypter, secretIdOf } from './encrypter.ts';

const OLD = 'a-secret-that-is-long-enough-0123456789';
const NEW = 'another-secret-that-is-long-enough-9876';
const plain = Buffer.from('what must not be read in the database');
const encrypterOf = (secrets: string, purpose = 'keys') => new Encrypter(parseSecrets(secrets), purpose);

describe.each([
  ['given without an id', OLD],
  ['given with an id', `a:${OLD}`],
])('an encrypter whose secret is %s', (_name, secrets) => {
  const encrypter = encrypterOf(secrets);

  it('decrypts what another encrypter with the same secret encrypted', () => {
    expect(encrypterOf(secrets).decrypt(encrypter.encrypt(plain, 'row 1'), 'row 1')).toEqual(plain);
  });

  it('refuses ciphertext of another secret, another purpose or another row', () => {
    const encrypted = encrypter.encrypt(plain, 'row 1');
    expect(() => encrypterOf(`${secrets}x`).decrypt(encrypted, 'row 1')).toThrow();
    expect(() => encrypterOf(secrets, 'other').decrypt(encrypted, 'row 1')).toThrow();
    expect(() => encrypter.decrypt(encrypted, 'row 2')).toThrow();
  });

  it('refuses ciphertext that was truncated or has any byte changed', () => {
    const encrypted = encrypter.encrypt(plain);
    for (let i = 0; i < encrypted.length; i++) {
      const changed = Buffer.from(encrypted);
      changed[i]! ^= 1;
      expect(() => encrypter.decrypt(changed), `byte ${i}`).toThrow();
    }
    for (let length = 0; length < encrypted.length; length++)
      expect(() => encrypter.decrypt(encrypted.subarray(0, length))).toThrow();
  });

  it('encrypts the same text differently each time and hides it', () => {
    expect(encrypter.encrypt(plain)).not.toEqual(encrypter.encrypt(plain));
    expect(encrypter.encrypt(plain).includes(plain)).toBe(false);
  });
});

describe('an encrypter with a list of secrets', () => {
  it('encrypts with the first secret, and decrypts with any secret in the list', () => {
    const lists = [OLD, `0:${OLD},b:${NEW}`, `b:${NEW},0:${OLD}`].map((each) => encrypterOf(each));
    expect(lists.map((encrypter) => secretIdOf(encrypter.encrypt(plain)))).toEqual(['0', '0', 'b']);
    // During a rollout, replicas with the previous and the next list run side by side.
    for (const [one, other] of [lists.slice(0, 2), lists.slice(1)] as [Encrypter, Encrypter][]) {
      expect(one.decrypt(other.encrypt(plain, 'row'), 'row')).toEqual(plain);
      expect(other.decrypt(one.encrypt(plain, 'row'), 'row')).toEqual(plain);
    }
  });

  it('names the missing secret when it refuses ciphertext of a secret that it lacks', () => {
    expect(() => encrypterOf(`b:${NEW}`).decrypt(encrypterOf(`a:${OLD}`).encrypt(plain))).toThrow(
      'CRS_SECRET has no secret with the id "a".',
    );
  });

  it('refuses ciphertext whose secret id was changed to another one in the list', () => {
    const both = encrypterOf(`a:${OLD},b:${OLD}`);
    const encrypted = both.encrypt(plain);
    encrypted.write('b', 5);
    expect(secretIdOf(encrypted)).toBe('b');
    expect(() => both.decrypt(encrypted)).toThrow();
  });
});
