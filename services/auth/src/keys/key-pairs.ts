import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { Query } from '@crs/kit/data/database';
import { Seal } from '@crs/kit/data/seal';
import { insertKeyPair, listKeyPairs, lockKeyPairs, type KeyKind } from '../store/key-pairs.ts';

/** For the signatures of all Ed25519 keys. */
export const ALGORITHM = 'EdDSA';

export interface KeyPair {
  keyId: string;
  publicKey: KeyObject;
  privateKey: KeyObject;
  signFrom: Date;
}

/** The Ed25519 key pairs of one kind, which all replicas share through the database. Private keys are sealed there. */
export class KeyPairs {
  readonly #kind: KeyKind;
  readonly #seal: Seal;

  /** @param secret the same on every replica */
  constructor(kind: KeyKind, secret: string) {
    this.#kind = kind;
    this.#seal = new Seal(secret, `${kind.replace('_', '-')}s`);
  }

  /** Until the transaction ends, no other replica makes or drops keys of this kind. */
  async lock(query: Query): Promise<void> {
    await query(lockKeyPairs(this.#kind));
  }

  /** Newest first. @throws Error for a key that was sealed with another secret */
  async list(query: Query): Promise<KeyPair[]> {
    const rows = await query(listKeyPairs(this.#kind));
    return rows.map(({ keyId, privateKeySealed, signFrom }) => {
      const privateKey = createPrivateKey(this.#seal.open(privateKeySealed));
      return { keyId, publicKey: createPublicKey(privateKey), privateKey, signFrom };
    });
  }

  /** Makes a key that signs from this time on, by default at once. @returns its id */
  async create(query: Query, signFrom?: Date): Promise<string> {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const keyId = `${this.#kind === 'caller_key' ? 'ck' : 'tk'}_${crypto.randomUUID()}`;
    const publicJwk = JSON.stringify(publicKey.export({ format: 'jwk' }));
    const privateKeySealed = this.#seal.seal(Buffer.from(privateKey.export({ type: 'pkcs8', format: 'pem' })));
    await query(insertKeyPair(this.#kind, { keyId, publicJwk, privateKeySealed, ...(signFrom && { signFrom }) }));
    return keyId;
  }
}
