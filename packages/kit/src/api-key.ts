import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 33 base62 characters: 196 bits. */
const RANDOM_LENGTH = 33;
const CHECK_LENGTH = 6;
/** 39 = {@link RANDOM_LENGTH} + {@link CHECK_LENGTH}. */
const PATTERN = /^crk_[0-9A-Za-z]{39}$/;

/** Creates an API key: `crk_`, a random part, and a checksum that reveals typos without a look-up. */
export function createApiKey(): string {
  const random = randomBase62(RANDOM_LENGTH);
  return `crk_${random}${checksum(random)}`;
}

/** Whether the text is well formed and its checksum is right. */
export function isApiKey(text: string): boolean {
  if (!PATTERN.test(text)) return false;
  const random = text.slice(4, 4 + RANDOM_LENGTH);
  return checksum(random) === text.slice(4 + RANDOM_LENGTH);
}

/** The SHA-256 of a secret, to store instead of it. Only for random secrets, which need no salt. */
export function digestOf(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}

export function randomBase62(length: number): string {
  return Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
}

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let position = 0; position < CHECK_LENGTH; position++) {
    digits = ALPHABET[rest % ALPHABET.length] + digits;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return digits;
}
