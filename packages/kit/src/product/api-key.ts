import { createHash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 33 base62 characters: 196 bits. */
const RANDOM_LENGTH = 33;
const CHECK_LENGTH = 6;
const FORM = new RegExp(`^crk_[0-9A-Za-z]{${RANDOM_LENGTH + CHECK_LENGTH}}$`);

/** A new API key: `crk_`, random part, and a checksum that tells a typo without asking anybody. */
export function createApiKey(): string {
  const random = randomBase62(RANDOM_LENGTH);
  return `crk_${random}${checksum(random)}`;
}

/** Whether it can be a key at all. */
export function isApiKey(text: string): boolean {
  if (!FORM.test(text)) return false;
  const random = text.slice(4, 4 + RANDOM_LENGTH);
  return checksum(random) === text.slice(4 + RANDOM_LENGTH);
}

/** What is stored of a secret that has enough entropy of its own: its SHA-256. */
export function digestOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
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
