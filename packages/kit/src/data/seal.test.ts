import { describe, expect, it } from 'vitest';
import { parseSecrets } from '../process/secrets.ts';
import { Seal, secretIdOf } from './seal.ts';

const OLD = 'a-secret-that-is-long-enough-0123456789';
const NEW = 'another-secret-that-is-long-enough-9876';
const plain = Buffer.from('what must not be read in the database');
const sealOf = (secrets: string, purpose = 'keys') => new Seal(parseSecrets(secrets), purpose);

describe.each([
  ['without an id', OLD],
  ['with an id', `a:${OLD}`],
])('a seal %s', (_name, secrets) => {
  const seal = sealOf(secrets);

  it('opens its own text again with another object of the same secret', () => {
    expect(sealOf(secrets).open(seal.seal(plain, 'row 1'), 'row 1')).toEqual(plain);
  });

  it('refuses bytes sealed under another secret, for another purpose or another row', () => {
    const sealed = seal.seal(plain, 'row 1');
    expect(() => sealOf(`${secrets}x`).open(sealed, 'row 1')).toThrow();
    expect(() => sealOf(secrets, 'other').open(sealed, 'row 1')).toThrow();
    expect(() => seal.open(sealed, 'row 2')).toThrow();
  });

  it('refuses sealed bytes with any one byte changed', () => {
    const sealed = seal.seal(plain);
    for (let i = 0; i < sealed.length; i++) {
      const changed = Buffer.from(sealed);
      changed[i]! ^= 1;
      expect(() => seal.open(changed), `byte ${i}`).toThrow();
    }
    for (let length = 0; length < sealed.length; length++) expect(() => seal.open(sealed.subarray(0, length))).toThrow();
  });

  it('seals the same text differently each time and hides it', () => {
    expect(seal.seal(plain)).not.toEqual(seal.seal(plain));
    expect(seal.seal(plain).includes(plain)).toBe(false);
  });
});

describe('secrets that change', () => {
  it('are opened by each list that has them, in whatever place, and sealed by the first', () => {
    const lists = [OLD, `0:${OLD},b:${NEW}`, `b:${NEW},0:${OLD}`].map((each) => sealOf(each));
    expect(lists.map((seal) => secretIdOf(seal.seal(plain)))).toEqual(['0', '0', 'b']);
    // From a rollout to the next, replicas with neighbouring lists run side by side.
    for (const [one, other] of [lists.slice(0, 2), lists.slice(1)] as [Seal, Seal][]) {
      expect(one.open(other.seal(plain, 'row'), 'row')).toEqual(plain);
      expect(other.open(one.seal(plain, 'row'), 'row')).toEqual(plain);
    }
  });

  it('name the secret that is missing', () => {
    expect(() => sealOf(`b:${NEW}`).open(sealOf(`a:${OLD}`).seal(plain))).toThrow('CRS_SECRET has no secret with the id "a".');
  });

  it('keep the id of the secret bound to the bytes', () => {
    const both = sealOf(`a:${OLD},b:${OLD}`);
    const sealed = both.seal(plain);
    sealed.write('b', 5);
    expect(secretIdOf(sealed)).toBe('b');
    expect(() => both.open(sealed)).toThrow();
  });
});
