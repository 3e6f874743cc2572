import { describe, expect, it } from 'vitest';
import { parseSecrets } from './secrets.ts';

const OLD = 'an-old-secret-that-is-long-enough-0123456789';
const NEW = 'a-new-secret-that-is-long-enough-9876543210';

describe('a list of secrets', () => {
  it.each([
    [OLD, [{ id: '0', secret: OLD }]],
    [`a:${OLD}`, [{ id: 'a', secret: OLD }]],
    [
      `2026-11:${NEW},0:${OLD}`,
      [
        { id: '2026-11', secret: NEW },
        { id: '0', secret: OLD },
      ],
    ],
    [`a:${OLD}:=/+`, [{ id: 'a', secret: `${OLD}:=/+` }]],
    // Without an id the whole text is the secret, even if it contains separators.
    [`${OLD}, x`, [{ id: '0', secret: `${OLD}, x` }]],
  ])('is parsed from %s', (text, secrets) => {
    expect(parseSecrets(text)).toEqual(secrets);
  });

  it.each([
    ['', 'must have at least 32 characters'],
    ['short', 'must have at least 32 characters'],
    ['a:short', 'part 1 of the list: the secret must have at least 32 characters'],
    [`a:${OLD},b:`, 'part 2 of the list: the secret must have at least 32 characters'],
    [`a:${OLD},a:${NEW}`, 'names the id "a" twice: each secret needs an id of its own'],
    [`:${OLD}`, /part 1 of the list must begin with an id/],
    [`a:${OLD},`, /part 2 of the list must begin with an id/],
    [`a:${OLD},${NEW}`, /part 2 of the list must begin with an id/],
    [`a:${OLD}, b:${NEW}`, /part 2 of the list must begin with an id/],
    [`${'a'.repeat(33)}:${OLD}`, /part 1 of the list must begin with an id of 1 to 32/],
    [`a:${OLD}\n`, 'part 1 of the list: the secret must be printable ASCII without spaces and commas'],
    [`a:${OLD}ü`, 'part 1 of the list: the secret must be printable ASCII without spaces and commas'],
  ])('is refused if it is %j, without quoting a secret', (text, message) => {
    expect(() => parseSecrets(text)).toThrow(message);
    try {
      parseSecrets(text);
    } catch (error) {
      expect(String(error)).not.toMatch(/an-old|a-new|short/);
    }
  });
});
