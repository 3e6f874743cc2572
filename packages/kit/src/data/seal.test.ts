import { describe, expect, it } from 'vitest';
import { Seal } from './seal.ts';

const SECRET = 'a-secret-that-is-long-enough-0123456789';
const plain = Buffer.from('what must not be read in the database');

describe('a seal', () => {
  it('opens its own text again with another object of the same secret', () => {
    expect(new Seal(SECRET, 'keys').open(new Seal(SECRET, 'keys').seal(plain))).toEqual(plain);
  });

  it('refuses bytes sealed under another secret or for another purpose', () => {
    const sealed = new Seal(SECRET, 'keys').seal(plain);
    expect(() => new Seal(`${SECRET}x`, 'keys').open(sealed)).toThrow();
    expect(() => new Seal(SECRET, 'other').open(sealed)).toThrow();
  });

  it('refuses sealed bytes with any one byte changed', () => {
    const seal = new Seal(SECRET, 'keys');
    const sealed = seal.seal(plain);
    for (let i = 0; i < sealed.length; i++) {
      const changed = Buffer.from(sealed);
      changed[i]! ^= 1;
      expect(() => seal.open(changed), `byte ${i}`).toThrow();
    }
    expect(() => seal.open(sealed.subarray(0, -1))).toThrow();
    expect(() => seal.open(Buffer.alloc(0))).toThrow();
  });

  it('seals the same text differently each time and hides it', () => {
    const seal = new Seal(SECRET, 'keys');
    expect(seal.seal(plain)).not.toEqual(seal.seal(plain));
    expect(seal.seal(plain).includes(plain)).toBe(false);
  });
});
