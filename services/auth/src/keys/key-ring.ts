import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { Database, Query } from '@crs/kit/data/database';
import type { Encrypter } from '@crs/kit/data/encrypter';
import { directoryScope, workFor } from '@crs/kit/data/scope';
import { notFound, ServiceError, unavailable } from '@crs/kit/errors';
import { Fresh } from '@crs/kit/fresh';
import type { Logger } from '@crs/kit/process/log';
import {
  ANNOUNCE_MS,
  CALLER_KEYS,
  currentKey,
  planRotation,
  retirementOf,
  stateOf,
  TOKEN_KEYS,
  type KeyTimes,
  type RotationRules,
} from '../domain/rotation.ts';
import { insertKeyPair, listKeyPairs, lockKeyPairs, retireKeyPairs, type KeyKind } from '../store/key-pairs.ts';
import type { Encrypters } from './encrypters.ts';

/** The JOSE name of Ed25519 signatures. */
export const ALGORITHM = 'EdDSA';

const PREFIX = { caller_key: 'ck_', token_key: 'tk_' };

/** How soon a replica learns of a key that another replica has created or retired. */
const FRESH_MS = 1_000;
const DATABASE_MS = 5_000;

export interface KeyPair extends KeyTimes {
  publicKey: KeyObject;
  privateKey: KeyObject;
}

/** @returns undefined if it isn't the id of a signing key */
export function kindOfKey(keyId: string): KeyKind | undefined {
  return (Object.keys(PREFIX) as KeyKind[]).find((kind) => keyId.startsWith(PREFIX[kind]));
}

/**
 * The Ed25519 signing keys of one kind. All replicas share them through the database, where private keys are encrypted. Whichever replica
 * first finds that a key is due creates or retires it.
 */
export class KeyRing {
  readonly #db: Database;
  readonly #log: Logger;
  readonly #kind: KeyKind;
  readonly #encrypter: Encrypter;
  readonly #rules: RotationRules;
  /** Cached by id, so that "crs secret reseal" with a new secret doesn't break replicas that don't have that secret yet. */
  #decrypted = new Map<string, KeyObject>();
  readonly #keys = new Fresh<KeyPair[]>({ maxAgeMs: FRESH_MS, staleMs: Infinity });

  constructor(kind: KeyKind, db: Database, encrypters: Encrypters, log: Logger) {
    this.#db = db;
    this.#log = log;
    this.#kind = kind;
    this.#encrypter = encrypters[`${kind}s`];
    this.#rules = kind === 'caller_key' ? CALLER_KEYS : TOKEN_KEYS;
  }

  /** Newest first, at most a second old. While the database is unavailable, it logs a warning and returns the last known keys. */
  async keys(): Promise<KeyPair[]> {
    return this.#keys.get(this.#kind, () =>
      this.#load().catch((error) => {
        this.#log.warn({ err: error }, `${this.#kind}s could not be loaded`);
        throw error;
      }),
    );
  }

  /** The key that signs now. @throws ServiceError unavailable if there is none yet */
  async current(): Promise<KeyPair> {
    const key = currentKey(await this.keys(), new Date());
    if (!key) throw unavailable('No key to sign with yet.');
    return key;
  }

  /** Creates a key that signs once every replica and verifier knows it. @returns its id */
  async rotate(query: Query): Promise<string> {
    await query(lockKeyPairs(this.#kind));
    return this.#create(query, new Date(Date.now() + ANNOUNCE_MS));
  }

  /**
   * Retires a key early. Tokens that it signed are refused within a second.
   * @param force allows it while tokens of the key may be in use
   * @throws ServiceError not_found, or failed_precondition for the signing key, and without `force` for one whose tokens may be in use
   */
  async retire(query: Query, keyId: string, force: boolean): Promise<void> {
    await query(lockKeyPairs(this.#kind));
    const keys = await this.#pairs(query);
    const key = keys.find((each) => each.keyId === keyId);
    if (!key) throw notFound('There is no signing key with this id. "signing-key list" shows those that exist.');
    const { state, retiresAt } = this.#describe(key, keys);
    if (state === 'signing')
      throw new ServiceError(
        'failed_precondition',
        'This key signs. Make a successor with "signing-key rotate", then retry in 15 seconds.',
      );
    if (state === 'verifying' && !force)
      throw new ServiceError(
        'failed_precondition',
        `Tokens that this key signed may be in use until ${retiresAt!.toISOString()}. It retires by itself then. To end them now, use --force.`,
      );
    await query(retireKeyPairs(this.#kind, [keyId]));
  }

  async list(query: Query) {
    const keys = await this.#pairs(query);
    return keys.map((key) => this.#describe(key, keys));
  }

  #describe(key: KeyPair, keys: KeyPair[]) {
    const { keyId, signFrom } = key;
    return { keyId, state: stateOf(key, keys, new Date()), signFrom, retiresAt: retirementOf(key, keys, this.#rules) };
  }

  async #load(): Promise<KeyPair[]> {
    const scope = () => directoryScope(workFor(DATABASE_MS));
    const keys = await this.#pairs((statement) => this.#db.read(scope(), statement));
    const due = planRotation(keys, new Date(), this.#rules);
    if (!due.createFrom && due.retire.length === 0) return keys;
    return this.#db.transact(scope(), async (query) => {
      await query(lockKeyPairs(this.#kind));
      // Plan again: another replica may have done the work while this one waited for the lock. A replica with another secret fails here, before
      // it creates a key that no other replica can decrypt.
      const { createFrom, retire } = planRotation(await this.#pairs(query), new Date(), this.#rules);
      if (createFrom) await this.#create(query, createFrom);
      if (retire.length > 0) await query(retireKeyPairs(this.#kind, retire));
      return this.#pairs(query);
    });
  }

  /** Newest first. @throws Error for a key that was encrypted under a secret that CRS_SECRET doesn't have */
  async #pairs(query: Query): Promise<KeyPair[]> {
    const rows = await query(listKeyPairs(this.#kind));
    const decrypted = new Map<string, KeyObject>();
    const keys = rows.map(({ privateKeyEncrypted, ...times }): KeyPair => {
      const { keyId } = times;
      const privateKey = this.#decrypted.get(keyId) ?? createPrivateKey(this.#encrypter.decrypt(privateKeyEncrypted, keyId));
      decrypted.set(keyId, privateKey);
      return { ...times, privateKey, publicKey: createPublicKey(privateKey) };
    });
    this.#decrypted = decrypted;
    return keys;
  }

  /** @returns the new key's id */
  async #create(query: Query, signFrom: Date): Promise<string> {
    const { privateKey } = generateKeyPairSync('ed25519');
    const keyId = `${PREFIX[this.#kind]}${crypto.randomUUID()}`;
    const pem = Buffer.from(privateKey.export({ type: 'pkcs8', format: 'pem' }));
    const privateKeyEncrypted = this.#encrypter.encrypt(pem, keyId);
    await query(insertKeyPair(this.#kind, { keyId, privateKeyEncrypted, signFrom }));
    return keyId;
  }
}
