import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { Secrets } from '../process/secrets.ts';

/** The first bytes of each envelope. The last one is the version. */
const MAGIC = Buffer.from('crs1');
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts bytes that only our own services may read or create: AES-256-GCM under keys derived from the secrets for one purpose.
 *
 * An envelope consists of header, nonce, tag and ciphertext. The header is `crs1`, the length of the secret's id in one byte, and the id. It is
 * authenticated as well.
 */
export class Encrypter {
  /** By the secret's id. */
  readonly #keys: Map<string, Buffer>;
  /** The secret that encrypts: the first of the list. */
  readonly secretId: string;

  constructor(secrets: Secrets, purpose: string) {
    this.#keys = new Map(secrets.map(({ id, secret }) => [id, Buffer.from(hkdfSync('sha256', secret, '', purpose, 32))]));
    this.secretId = secrets[0].id;
  }

  /** @param context authenticated as well: `decrypt` fails unless it gets the same text, such as the row's id */
  encrypt(plain: Buffer, context = ''): Buffer {
    const id = Buffer.from(this.secretId);
    const head = Buffer.concat([MAGIC, Buffer.of(id.length), id]);
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#keys.get(this.secretId)!, nonce);
    cipher.setAAD(Buffer.concat([head, Buffer.from(context)]));
    const body = Buffer.concat([cipher.update(plain), cipher.final()]);
    return Buffer.concat([head, nonce, cipher.getAuthTag(), body]);
  }

  /** @throws Error for bytes that were changed, or encrypted under another secret, for another purpose, or in another context */
  decrypt(encrypted: Buffer, context = ''): Buffer {
    const id = secretIdOf(encrypted);
    const key = this.#keys.get(id);
    if (!key) throw new Error(`CRS_SECRET has no secret with the id "${id}".`);
    const nonceAt = MAGIC.length + 1 + id.length;
    const tagAt = nonceAt + NONCE_BYTES;
    const bodyAt = tagAt + TAG_BYTES;
    const decipher = createDecipheriv('aes-256-gcm', key, encrypted.subarray(nonceAt, tagAt), { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.concat([encrypted.subarray(0, nonceAt), Buffer.from(context)]));
    decipher.setAuthTag(encrypted.subarray(tagAt, bodyAt));
    return Buffer.concat([decipher.update(encrypted.subarray(bodyAt)), decipher.final()]);
  }
}

/** The id of the secret that encrypted the bytes. @throws Error if they aren't an envelope */
export function secretIdOf(encrypted: Buffer): string {
  if (!encrypted.subarray(0, MAGIC.length).equals(MAGIC)) throw new Error('The bytes are not an envelope of an Encrypter.');
  const begin = MAGIC.length + 1;
  return encrypted.toString('latin1', begin, begin + (encrypted[MAGIC.length] ?? 0));
}

/** {@link secretIdOf} as an SQL expression over a column of envelopes. */
export function secretIdSql(column: string): string {
  return `encode(substring(${column} from ${MAGIC.length + 2} for get_byte(${column}, ${MAGIC.length})), 'escape')`;
}
