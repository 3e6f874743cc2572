import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { Query } from '@crs/kit/data/database';
import type { KeyTimes } from '../domain/rotation.ts';
import { insertKeyPair, listKeyPairs, lockKeyPairs, retireKeyPairs, type KeyKind } from '../store/key-pairs.ts';
import { openRow, sealRow, type Seals } from './seals.ts';

/** For the signatures of all Ed25519 keys. */
export const ALGORITHM = 'EdDSA';

const PREFIX = { caller_key: 'ck_', token_key: 'tk_' };

export interface KeyPair extends KeyTimes {
  publicKey: KeyObject;
  privateKey: KeyObject;
}

/** The kind of the key with this id; undefined if it is no id of a key. */
export function kindOfKey(keyId: string): KeyKind | undefined {
  return (Object.keys(PREFIX) as KeyKind[]).find((kind) => keyId.startsWith(PREFIX[kind]));
}

/** The Ed25519 key pairs of one kind, which all replicas share through the database. Private keys are sealed there. */
export class KeyPairs {
  readonly #kind: KeyKind;
  readonly #seals: Seals;
  /** By id, so that each private key is opened once. */
  #opened = new Map<string, KeyObject>();

  constructor(kind: KeyKind, seals: Seals) {
    this.#kind = kind;
    this.#seals = seals;
  }

  /** Until the transaction ends, no other replica makes or drops keys of this kind. */
  async lock(query: Query): Promise<void> {
    await query(lockKeyPairs(this.#kind));
  }

  /** Newest first. @throws Error for a key that was sealed under a secret that CRS_SECRET doesn't have */
  async list(query: Query): Promise<KeyPair[]> {
    const rows = await query(listKeyPairs(this.#kind));
    const opened = new Map<string, KeyObject>();
    const keys = rows.map(({ privateKeySealed: sealed, ...times }): KeyPair => {
      const row = times.keyId;
      const privateKey = this.#opened.get(row) ?? createPrivateKey(openRow(this.#seals, `${this.#kind}s`, { row, sealed }));
      opened.set(row, privateKey);
      return { ...times, privateKey, publicKey: createPublicKey(privateKey) };
    });
    this.#opened = opened;
    return keys;
  }

  /** Makes a key that signs from this time on. @returns its id */
  async create(query: Query, signFrom: Date): Promise<string> {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const keyId = `${PREFIX[this.#kind]}${crypto.randomUUID()}`;
    const publicJwk = JSON.stringify(publicKey.export({ format: 'jwk' }));
    const pem = Buffer.from(privateKey.export({ type: 'pkcs8', format: 'pem' }));
    const privateKeySealed = sealRow(this.#seals, `${this.#kind}s`, keyId, pem);
    await query(insertKeyPair(this.#kind, { keyId, publicJwk, privateKeySealed, signFrom }));
    return keyId;
  }

  async retire(query: Query, keyIds: string[]): Promise<void> {
    await query(retireKeyPairs(this.#kind, keyIds));
  }
}
