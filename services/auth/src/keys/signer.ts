import { signIdentity, type Identity } from '@crs/kit/rpc/identity';
import type { KeyRing } from './key-ring.ts';

/** Signs caller and operator tokens. */
export class Signer {
  readonly #ring: KeyRing;

  constructor(ring: KeyRing) {
    this.#ring = ring;
  }

  /**
   * @param service the one that accepts the token, besides auth; by default every service does
   * @throws ServiceError unavailable where there is no key to sign with
   */
  async sign(identity: Identity, seconds: number, service?: string): Promise<string> {
    const { keyId, privateKey } = await this.#ring.current();
    return signIdentity(identity, service, keyId, privateKey, seconds);
  }

  /** Public keys as JSON Web Keys, by key id, newest first. */
  async publicKeys(): Promise<Map<string, string>> {
    const keys = await this.#ring.keys();
    return new Map(keys.map(({ keyId, publicKey }) => [keyId, JSON.stringify(publicKey.export({ format: 'jwk' }))]));
  }
}
