import { describe, expect, it } from 'vitest';
import { parseSecrets } from '../process/secrets.ts';
import { Encrypter, secretIdOf } from './encrypter.ts';

const OLD = 'a-secret-that-is-long-enough-0123456789';
const NEW = 'another-secret-that-is-long-enough-9876';
const plain = Buffer.from('what must not be read in the database');
const encrypterOf = (secrets: string, purpose = 'keys') => new Encrypter(parseSecrets(secrets), purpose);

describe.each([
  ['without an id', OLD],
  ['with an id', `a:${OLD}`],
])('an encrypter %s', (_name, secrets) => {
  const encrypter = encrypterOf(secrets);

  it('opens its own text again with another object of the same secret', () => {
    expect(encrypterOf(secrets).decrypt(encrypter.encrypt(plain, 'row 1'), 'row 1')).toEqual(plain);
  });

  it('refuses bytes sealed under another secret, for another purpose or another row', () => {
    const encrypted = encrypter.encrypt(plain, 'row 1');
    expect(() => encrypterOf(`${secrets}x`).decrypt(encrypted, 'row 1')).toThrow();
    expect(() => encrypterOf(secrets, 'other').decrypt(encrypted, 'row 1')).toThrow();
    expect(() => encrypter.decrypt(encrypted, 'row 2')).toThrow();
  });

  it('refuses sealed bytes with any one byte changed', () => {
    const encrypted = encrypter.encrypt(plain);
    for (let i = 0; i < encrypted.length; i++) {
      const changed = Buffer.from(encrypted);
      changed[i]! ^= 1;
      expect(() => encrypter.decrypt(changed), `byte ${i}`).toThrow();
    }
    for (let length = 0; length < encrypted.length; length++)
      expect(() => encrypter.decrypt(encrypted.subarray(0, length))).toThrow();
  });

  it('seals the same text differently each time and hides it', () => {
    expect(encrypter.encrypt(plain)).not.toEqual(encrypter.encrypt(plain));
    expect(encrypter.encrypt(plain).includes(plain)).toBe(false);
  });
});

describe('secrets that change', () => {
  it('are opened by each list that has them, in whatever place, and sealed by the first', () => {
    const lists = [OLD, `0:${OLD},b:${NEW}`, `b:${NEW},0:${OLD}`].map((each) => encrypterOf(each));
    expect(lists.map((encrypter) => secretIdOf(encrypter.encrypt(plain)))).toEqual(['0', '0', 'b']);
    // From a rollout to the next, replicas with neighbouring lists run side by side.
    for (const [one, other] of [lists.slice(0, 2), lists.slice(1)] as [Encrypter, Encrypter][]) {
      expect(one.decrypt(other.encrypt(plain, 'row'), 'row')).toEqual(plain);
      expect(other.decrypt(one.encrypt(plain, 'row'), 'row')).toEqual(plain);
    }
  });

  it('name the secret that is missing', () => {
    expect(() => encrypterOf(`b:${NEW}`).decrypt(encrypterOf(`a:${OLD}`).encrypt(plain))).toThrow(
      'CRS_SECRET has no secret with the id "a".',
    );
  });

  it('keep the id of the secret bound to the bytes', () => {
    const both = encrypterOf(`a:${OLD},b:${OLD}`);
    const encrypted = both.encrypt(plain);
    encrypted.write('b', 5);
    expect(secretIdOf(encrypted)).toBe('b');
    expect(() => both.decrypt(encrypted)).toThrow();
  });
});
