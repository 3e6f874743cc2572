import { invalid } from '@crs/kit/errors';
import {
  signIdentity,
  type Identity,
  type OrganizationIdentity,
  type ProgramIdentity,
  type UserIdentity,
} from '@crs/kit/rpc/identity';
import type { KeyRing } from './key-ring.ts';

/** Longer than gateways cache a token (1 s) plus the longest request. */
const CALLER_TOKEN_SECONDS = 30;
const MAX_AUDIENCES = 10;
const SERVICE_NAME = /^[a-z][a-z-]{0,39}$/;

/** Signs caller and operator tokens. */
export class Signer {
  readonly #ring: KeyRing;

  constructor(ring: KeyRing) {
    this.#ring = ring;
  }

  /**
   * @param service the only one that accepts the token, besides auth. Undefined: every service does
   * @throws ServiceError unavailable if no key signs yet
   */
  async sign(identity: Identity, seconds: number, service?: string): Promise<string> {
    const { keyId, privateKey } = await this.#ring.current();
    return signIdentity(identity, service, keyId, privateKey, seconds);
  }

  /** Signs a caller token for each service. @returns the tokens by service @throws ServiceError invalid_argument */
  async signForServices(
    identity: OrganizationIdentity | UserIdentity | ProgramIdentity,
    services: string[],
  ): Promise<Record<string, string>> {
    if (services.length === 0 || services.length > MAX_AUDIENCES || !services.every((name) => SERVICE_NAME.test(name))) {
      throw invalid('audiences', `must be 1 to ${MAX_AUDIENCES} names of services`);
    }
    const tokens = await Promise.all(
      services.map(async (service) => [service, await this.sign(identity, CALLER_TOKEN_SECONDS, service)] as const),
    );
    return Object.fromEntries(tokens);
  }

  /** Public keys as JSON Web Keys, by key id, newest first. */
  async publicKeys(): Promise<Map<string, string>> {
    const keys = await this.#ring.keys();
    return new Map(keys.map(({ keyId, publicKey }) => [keyId, JSON.stringify(publicKey.export({ format: 'jwk' }))]));
  }
}
