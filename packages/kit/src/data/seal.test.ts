import { describe, expect, it } from 'vitest';
import { Seal } from './seal.ts';

const SECRET = 'a-secret-that-is-long-enough-0123456789';
const plain = Buffer.from('what must not be read in the database');

describe('a seal', () => {
  it('opens what it sealed, another time and in another process', () => {
    expect(new Seal(SECRET, 'keys').open(new Seal(SECRET, 'keys').seal(plain))).toEqual(plain);
  });

  it('opens nothing sealed under another secret or for another purpose', () => {
    const sealed = new Seal(SECRET, 'keys').seal(plain);
    expect(() => new Seal(`${SECRET}x`, 'keys').open(sealed)).toThrow();
    expect(() => new Seal(SECRET, 'other').open(sealed)).toThrow();
  });

  it('opens nothing that was changed, wherever', () => {
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

  it('never seals twice alike and hides the text', () => {
    const seal = new Seal(SECRET, 'keys');
    expect(seal.seal(plain)).not.toEqual(seal.seal(plain));
    expect(seal.seal(plain).includes(plain)).toBe(false);
  });
});
