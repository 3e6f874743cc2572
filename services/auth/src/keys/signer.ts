import type { Database } from '@crs/kit/data/database';
import { directoryScope, workFor } from '@crs/kit/data/scope';
import { unavailable } from '@crs/kit/errors';
import type { Logger } from '@crs/kit/process/log';
import { signIdentity, type Identity } from '@crs/kit/rpc/identity';
import { currentKey, planRotation } from '../domain/rotation.ts';
import { deleteCallerKeys } from '../store/key-pairs.ts';
import { KeyPairs, type KeyPair } from './key-pairs.ts';

const RELOAD_EVERY_MS = 60_000;

/** Signs caller and operator tokens with keys that all replicas share through the database, and rotates the keys. */
export class Signer {
  readonly #db: Database;
  readonly #log: Logger;
  readonly #pairs: KeyPairs;
  #keys: KeyPair[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(db: Database, secret: string, log: Logger) {
    this.#db = db;
    this.#log = log;
    this.#pairs = new KeyPairs('caller_key', secret);
  }

  /** Loads the keys, and again every minute. While the database is away, it logs a warning and tries on. */
  async start(): Promise<void> {
    const reload = () => this.#reload().catch((error) => this.#log.warn({ err: error }, 'caller keys could not be loaded'));
    await reload();
    this.#timer = setInterval(() => void reload(), RELOAD_EVERY_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /**
   * @param service the one that accepts the token, besides auth; by default every service does
   * @throws ServiceError unavailable where there is no key to sign with
   */
  async sign(identity: Identity, seconds: number, service?: string): Promise<string> {
    if (this.#keys.length === 0) await this.#reload();
    const key = currentKey(this.#keys, new Date());
    if (!key) throw unavailable('No key to sign with yet.');
    return signIdentity(identity, service, key.keyId, key.privateKey, seconds);
  }

  /** Public keys as JSON Web Keys, by key id, newest first. */
  async publicKeys(): Promise<Map<string, string>> {
    if (this.#keys.length === 0) await this.#reload();
    return new Map(this.#keys.map(({ keyId, publicKey }) => [keyId, JSON.stringify(publicKey.export({ format: 'jwk' }))]));
  }

  async #reload(): Promise<void> {
    this.#keys = await this.#db.transact(directoryScope(workFor(5_000)), async (query) => {
      await this.#pairs.lock(query);
      // A replica with another secret fails here, before it makes a successor that no other replica could open.
      const keys = await this.#pairs.list(query);
      const plan = planRotation(keys, new Date());
      if (!plan.createFrom && plan.drop.length === 0) return keys;
      if (plan.createFrom) await this.#pairs.create(query, plan.createFrom);
      await query(deleteCallerKeys(plan.drop));
      return this.#pairs.list(query);
    });
  }
}
