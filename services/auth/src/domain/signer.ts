import { generateKeyPairSync } from 'node:crypto';
import { importPKCS8, type CryptoKey } from 'jose';
import type { Database } from '@crs/kit/data/database';
import { directoryScope, workFor } from '@crs/kit/data/scope';
import { unavailable } from '@crs/kit/errors';
import { signIdentity, type Identity } from '@crs/kit/rpc/identity';
import type { Logger } from '@crs/kit/process/log';
import { deleteCallerKeys, insertCallerKey, listCallerKeys, lockCallerKeys, type CallerKeyRow } from '../store/caller-keys.ts';
import { currentKey, planRotation, type KeyTimes } from './rotation.ts';
import { Seal } from '@crs/kit/data/seal';

interface LoadedKey extends KeyTimes {
  publicJwk: string;
  privateKey: CryptoKey;
}

const RELOAD_EVERY_MS = 60_000;

/** Signs caller and operator tokens with keys that all replicas share through the database, and rotates them. */
export class Signer {
  readonly #db: Database;
  readonly #log: Logger;
  readonly #seal: Seal;
  #keys: LoadedKey[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(db: Database, secret: string, log: Logger) {
    this.#db = db;
    this.#log = log;
    this.#seal = new Seal(secret, 'caller-keys');
  }

  /** Loads the keys and keeps them fresh. A database that is not there yet is waited for in the background. */
  async start(): Promise<void> {
    const reload = () => this.#reload().catch((error) => this.#log.warn({ err: error }, 'caller keys could not be loaded'));
    await reload();
    this.#timer = setInterval(() => void reload(), RELOAD_EVERY_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async sign(identity: Identity, seconds: number): Promise<string> {
    if (this.#keys.length === 0) await this.#reload();
    const key = currentKey(this.#keys, new Date());
    if (!key) throw unavailable('No key to sign with yet.');
    return signIdentity(identity, key.keyId, key.privateKey, seconds);
  }

  /** Public keys as JSON Web Keys, by key id, newest first. */
  async publicKeys(): Promise<Map<string, string>> {
    if (this.#keys.length === 0) await this.#reload();
    return new Map(this.#keys.map((key) => [key.keyId, key.publicJwk]));
  }

  async #reload(): Promise<void> {
    const scope = directoryScope(workFor(5_000));
    this.#keys = await this.#db.transact(scope, async (query) => {
      await lockCallerKeys(query);
      // Opened first: who has another secret must not make a successor that nobody else can open.
      const keys = await this.#openAll(await listCallerKeys(query));
      const plan = planRotation(keys, new Date());
      if (!plan.createFrom && plan.drop.length === 0) return keys;
      if (plan.createFrom) await insertCallerKey(query, this.#create(plan.createFrom));
      await deleteCallerKeys(query, plan.drop);
      return this.#openAll(await listCallerKeys(query));
    });
  }

  #openAll(rows: CallerKeyRow[]): Promise<LoadedKey[]> {
    return Promise.all(
      rows.map(async ({ keyId, signFrom, publicJwk, privateKeySealed }) => {
        const pem = this.#seal.open(privateKeySealed).toString();
        return { keyId, signFrom, publicJwk, privateKey: await importPKCS8(pem, 'EdDSA') };
      }),
    );
  }

  #create(signFrom: Date) {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
    return {
      keyId: `ck_${crypto.randomUUID()}`,
      signFrom,
      publicJwk: JSON.stringify(publicKey.export({ format: 'jwk' })),
      privateKeySealed: this.#seal.seal(Buffer.from(pem)),
    };
  }
}
