import { describe, expect, it } from 'vitest';
import { createApiKey, digestOf, isApiKey } from './api-key.ts';

describe('API keys', () => {
  it('consist of crk_ and 39 random letters and digits', () => {
    const keys = Array.from({ length: 1_000 }, createApiKey);
    for (const key of keys) expect(key).toMatch(/^crk_[0-9A-Za-z]{39}$/);
    expect(new Set(keys).size).toBe(1_000);
    expect(keys.every(isApiKey)).toBe(true);
  });

  it('keep their format, because the checksum is part of the contract', () => {
    expect(isApiKey('crk_000000000000000000000000000000000000000')).toBe(false);
    expect(isApiKey('crk_0123456789ABCDEFGHIJKLMNOPQRSTUVW3ffP4c')).toBe(true);
  });

  it('have a checksum that detects every wrong character and every swap of adjacent characters', () => {
    const key = createApiKey();
    for (let i = 4; i < key.length; i++) {
      const other = key[i] === 'x' ? 'y' : 'x';
      expect(isApiKey(key.slice(0, i) + other + key.slice(i + 1)), `character ${i}`).toBe(false);
      const swapped = key.slice(0, i) + key.slice(i + 1, i + 2) + key[i] + key.slice(i + 2);
      if (swapped !== key) expect(isApiKey(swapped), `swap at ${i}`).toBe(false);
    }
  });

  it.each([
    ['an empty string', ''],
    ['only the prefix', 'crk_'],
    ['a different prefix', (key: string) => key.replace('crk_', 'cro_')],
    ['no prefix', (key: string) => key.slice(4)],
    ['one character missing', (key: string) => key.slice(0, -1)],
    ['one extra character', (key: string) => `${key}0`],
    ['a trailing newline', (key: string) => `${key}\n`],
    ['leading white space', (key: string) => ` ${key}`],
    ['a non-ASCII digit', (key: string) => key.replace(/.$/, '\u0661')],
  ])('are rejected by the format check: %s', (_, change) => {
    expect(isApiKey(typeof change === 'string' ? change : change(createApiKey()))).toBe(false);
  });

  it('are stored as their SHA-256', () => {
    expect(digestOf('abc').toString('hex')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });
});
