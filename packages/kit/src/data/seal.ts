import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { Secrets } from '../process/secrets.ts';

/** Begins each envelope that names its secret. The last character is the version. */
const MAGIC = Buffer.from('crs1');
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts and authenticates bytes that only our own services may read or make: AES-256-GCM under keys derived from the secrets for one purpose.
 *
 * An envelope is a head, nonce, tag and ciphertext. The head is `crs1`, the length of the secret's id in one byte, and the id. It is authenticated, too.
 * Under a plain secret an envelope has no head.
 */
export class Seal {
  /** By the secret's id, in the order of the list. */
  readonly #keys: Map<string, Buffer>;
  readonly #first: Buffer;
  /** The id that new envelopes name; undefined under a plain secret. */
  readonly names: string | undefined;

  constructor(secrets: Secrets, purpose: string) {
    this.#keys = new Map(secrets.map(({ id, secret }) => [id, Buffer.from(hkdfSync('sha256', secret, '', purpose, 32))]));
    this.#first = this.#keys.get(secrets[0].id)!;
    this.names = secrets[0].plain ? undefined : secrets[0].id;
  }

  /** @param bound a context, such as a row's id: only `open` with the same context succeeds */
  seal(plain: Buffer, bound = ''): Buffer {
    const id = Buffer.from(this.names ?? '');
    const head = this.names === undefined ? id : Buffer.concat([MAGIC, Buffer.of(id.length), id]);
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#first, nonce);
    cipher.setAAD(Buffer.concat([head, Buffer.from(bound)]));
    const body = Buffer.concat([cipher.update(plain), cipher.final()]);
    return Buffer.concat([head, nonce, cipher.getAuthTag(), body]);
  }

  /** @throws Error if the bytes were sealed under a secret that isn't in the list, for another purpose or context, or were changed */
  open(sealed: Buffer, bound = ''): Buffer {
    const id = secretIdOf(sealed);
    if (id !== undefined) {
      const key = this.#keys.get(id);
      if (!key) throw new Error(`CRS_SECRET has no secret with the id "${id}".`);
      return decrypt(key, sealed, MAGIC.length + 1 + id.length, bound);
    }
    for (const key of this.#keys.values()) {
      try {
        return decrypt(key, sealed, 0, bound);
      } catch {
        // The next secret may be the right one.
      }
    }
    throw new Error('No secret of CRS_SECRET opens it.');
  }
}

/** The id of the secret that sealed the bytes; undefined if they don't name it. */
export function secretIdOf(sealed: Buffer): string | undefined {
  if (!sealed.subarray(0, MAGIC.length).equals(MAGIC)) return undefined;
  const begin = MAGIC.length + 1;
  return sealed.toString('latin1', begin, begin + (sealed[MAGIC.length] ?? 0));
}

/** {@link secretIdOf} in SQL, of a column: text, or null. */
export function secretIdSql(column: string): string {
  const head = `substring(${column} from 1 for ${MAGIC.length}) = '\\x${MAGIC.toString('hex')}'`;
  const id = `encode(substring(${column} from ${MAGIC.length + 2} for get_byte(${column}, ${MAGIC.length})), 'escape')`;
  return `case when ${head} then ${id} end`;
}

function decrypt(key: Buffer, sealed: Buffer, headBytes: number, bound: string): Buffer {
  const tagAt = headBytes + NONCE_BYTES;
  const nonce = sealed.subarray(headBytes, tagAt);
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.concat([sealed.subarray(0, headBytes), Buffer.from(bound)]));
  decipher.setAuthTag(sealed.subarray(tagAt, tagAt + TAG_BYTES));
  return Buffer.concat([decipher.update(sealed.subarray(tagAt + TAG_BYTES)), decipher.final()]);
}
