import { Seal } from '@crs/kit/data/seal';
import type { Secrets } from '@crs/kit/process/secrets';
import type { Checks } from './relying-party.ts';

/** A sign-in that continues at an organization's own identity provider. The browser keeps it in a cookie, so that any replica can finish the sign-in. */
export interface Begun extends Checks {
  organization: string;
  issuer: string;
  /** The id of the authorization request that continues after the sign-in. Undefined: the page /connections follows. */
  uid?: string | undefined;
}

/** How long the user has to sign in at the provider, in milliseconds. */
export const BEGUN_MS = 600_000;

export class BegunSeal {
  readonly #seal: Seal;

  constructor(secrets: Secrets) {
    this.#seal = new Seal(secrets, 'federated-sign-in');
  }

  close(begun: Begun): string {
    return this.#seal.seal(Buffer.from(JSON.stringify({ ...begun, until: Date.now() + BEGUN_MS }))).toString('base64url');
  }

  /** @returns undefined if there is no value, it is older than {@link BEGUN_MS}, or it was not sealed with a secret of ours */
  open(value: string | undefined): Begun | undefined {
    if (!value) return undefined;
    try {
      const { until, ...begun } = JSON.parse(this.#seal.open(Buffer.from(value, 'base64url')).toString()) as Begun & {
        until: number;
      };
      return until > Date.now() ? begun : undefined;
    } catch {
      return undefined;
    }
  }
}
