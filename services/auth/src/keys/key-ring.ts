import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { Database, Query } from '@crs/kit/data/database';
import { directoryScope, workFor } from '@crs/kit/data/scope';
import { notFound, ServiceError, unavailable } from '@crs/kit/errors';
import { Fresh } from '@crs/kit/fresh';
import type { Logger } from '@crs/kit/process/log';
import {
  ANNOUNCE_MS,
  CALLER_KEYS,
  currentKey,
  planRotation,
  retiresAt,
  stateOf,
  TOKEN_KEYS,
  type KeyState,
  type KeyTimes,
} from '../domain/rotation.ts';
import { insertKeyPair, listKeyPairs, lockKeyPairs, retireKeyPairs, type KeyKind } from '../store/key-pairs.ts';
import type { Seals } from './seals.ts';

/** For the signatures of all Ed25519 keys. */
export const ALGORITHM = 'EdDSA';

const PREFIX = { caller_key: 'ck_', token_key: 'tk_' };

/** A replica learns within this time of a key that another one has made or retired. */
const FRESH_MS = 1_000;
const DATABASE_MS = 5_000;

export interface KeyPair extends KeyTimes {
  publicKey: KeyObject;
  privateKey: KeyObject;
}

/** A key, as operators see it. */
interface ListedKey {
  keyId: string;
  state: KeyState;
  signFrom: Date;
  /** Undefined as long as it has no successor. */
  retiresAt: Date | undefined;
}

/** The kind of the key with this id; undefined if it isn't the id of a key. */
export function kindOfKey(keyId: string): KeyKind | undefined {
  return (Object.keys(PREFIX) as KeyKind[]).find((kind) => keyId.startsWith(PREFIX[kind]));
}

/**
 * The Ed25519 signing keys of one kind. All replicas share them through the database, where private keys are encrypted. Each replica makes
 * and retires keys when that is due.
 */
export class KeyRing {
  readonly #db: Database;
  readonly #log: Logger;
  readonly #kind: KeyKind;
  readonly #seals: Seals;
  /** By id. A replica keeps the keys that it knows when they are encrypted again under a secret that it does not have yet. */
  #decrypted = new Map<string, KeyObject>();
  readonly #keys = new Fresh<KeyPair[]>({ maxAgeMs: FRESH_MS, staleMs: Infinity });

  constructor(kind: KeyKind, db: Database, seals: Seals, log: Logger) {
    this.#db = db;
    this.#log = log;
    this.#kind = kind;
    this.#seals = seals;
  }

  /** Newest first, as they were at most a second ago. While the database is away, it logs a warning and returns the keys that it knows. */
  async keys(): Promise<KeyPair[]> {
    return this.#keys.get(this.#kind, async () => {
      try {
        return await this.#load();
      } catch (error) {
        this.#log.warn({ err: error }, `${this.#kind}s could not be loaded`);
        throw error;
      }
    });
  }

  /** The key that signs now. @throws ServiceError unavailable where there is none */
  async current(): Promise<KeyPair> {
    const key = currentKey(await this.keys(), new Date());
    if (!key) throw unavailable('No key to sign with yet.');
    return key;
  }

  /** Makes a key that signs soon, and is known everywhere until then. @returns its id */
  async rotate(query: Query): Promise<string> {
    await query(lockKeyPairs(this.#kind));
    return this.#create(query, new Date(Date.now() + ANNOUNCE_MS));
  }

  /**
   * Retires a key before its time. Tokens that it signed are refused within a second.
   * @param force also if tokens that it signed may be in use
   * @throws ServiceError not_found; failed_precondition for the key that signs, and without `force` for a key whose tokens may be in use
   */
  async retire(query: Query, keyId: string, force: boolean): Promise<void> {
    await query(lockKeyPairs(this.#kind));
    const keys = await this.#pairs(query);
    const key = keys.find((each) => each.keyId === keyId);
    if (!key) throw notFound('There is no signing key with this id. "signing-key list" shows those that exist.');
    const { state, retiresAt: end } = this.#describe(key, keys);
    if (state === 'signing')
      throw new ServiceError(
        'failed_precondition',
        'This key signs. Make a successor with "signing-key rotate", then retry in 15 seconds.',
      );
    if (state === 'verifying' && !force)
      throw new ServiceError(
        'failed_precondition',
        `Tokens that this key signed may be in use until ${end!.toISOString()}. It retires by itself then. To end them now, use --force.`,
      );
    await query(retireKeyPairs(this.#kind, [keyId]));
  }

  async list(query: Query): Promise<ListedKey[]> {
    const keys = await this.#pairs(query);
    return keys.map((key) => this.#describe(key, keys));
  }

  #describe(key: KeyPair, keys: KeyPair[]): ListedKey {
    const { keyId, signFrom } = key;
    return { keyId, state: stateOf(key, keys, new Date()), signFrom, retiresAt: retiresAt(key, keys, this.#rules) };
  }

  async #load(): Promise<KeyPair[]> {
    const scope = () => directoryScope(workFor(DATABASE_MS));
    const keys = await this.#pairs((statement) => this.#db.read(scope(), statement));
    const due = this.#plan(keys);
    if (!due.createFrom && due.retire.length === 0) return keys;
    return this.#db.transact(scope(), async (query) => {
      await query(lockKeyPairs(this.#kind));
      // Another replica may have done it while this one waited for the lock. A replica with another secret fails here, before it makes a key that
      // no other replica could decrypt.
      const { createFrom, retire } = this.#plan(await this.#pairs(query));
      if (createFrom) await this.#create(query, createFrom);
      if (retire.length > 0) await query(retireKeyPairs(this.#kind, retire));
      return this.#pairs(query);
    });
  }

  /** Newest first. @throws Error for a key that was encrypted under a secret that CRS_SECRET doesn't have */
  async #pairs(query: Query): Promise<KeyPair[]> {
    const rows = await query(listKeyPairs(this.#kind));
    const decrypted = new Map<string, KeyObject>();
    const keys = rows.map(({ privateKeySealed, ...times }): KeyPair => {
      const { keyId } = times;
      const privateKey =
        this.#decrypted.get(keyId) ?? createPrivateKey(this.#seals[`${this.#kind}s`].open(privateKeySealed, keyId));
      decrypted.set(keyId, privateKey);
      return { ...times, privateKey, publicKey: createPublicKey(privateKey) };
    });
    this.#decrypted = decrypted;
    return keys;
  }

  /** Makes a key that signs from this time on. @returns its id */
  async #create(query: Query, signFrom: Date): Promise<string> {
    const { privateKey } = generateKeyPairSync('ed25519');
    const keyId = `${PREFIX[this.#kind]}${crypto.randomUUID()}`;
    const pem = Buffer.from(privateKey.export({ type: 'pkcs8', format: 'pem' }));
    const privateKeySealed = this.#seals[`${this.#kind}s`].seal(pem, keyId);
    await query(insertKeyPair(this.#kind, { keyId, privateKeySealed, signFrom }));
    return keyId;
  }

  #plan(keys: KeyPair[]) {
    return planRotation(keys, new Date(), this.#rules);
  }

  get #rules() {
    return this.#kind === 'caller_key' ? CALLER_KEYS : TOKEN_KEYS;
  }
}
