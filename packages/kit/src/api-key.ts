import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 33 base62 characters: 196 bits. */
const RANDOM_LENGTH = 33;
const CHECK_LENGTH = 6;
/** 39 = {@link RANDOM_LENGTH} + {@link CHECK_LENGTH}. */
const PATTERN = /^(crk|crd)_[0-9A-Za-z]{39}$/;

/** Creates an API key: `crk_`, a random part, and a checksum that reveals typos without a look-up. */
export function createApiKey(): string {
  return create('crk');
}

/** Whether the text is well formed and its checksum is right. */
export function isApiKey(text: string): boolean {
  return text.startsWith('crk_') && isWellFormed(text);
}

/** Creates a SCIM token, of the form of an API key, but with the prefix `crd_`, for "directory". */
export function createScimToken(): string {
  return create('crd');
}

/** Whether the text can be a SCIM token. A key of `crs key generate` can, too, because `crs apply` takes its digest for either use. */
export function isScimToken(text: string): boolean {
  return isWellFormed(text);
}

function create(prefix: 'crk' | 'crd'): string {
  const random = randomBase62(RANDOM_LENGTH);
  return `${prefix}_${random}${checksum(random)}`;
}

function isWellFormed(text: string): boolean {
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
