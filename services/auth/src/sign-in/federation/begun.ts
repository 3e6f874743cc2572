import { Seal } from '@crs/kit/data/seal';
import type { Checks } from './relying-party.ts';

/** A sign-in that is under way at an organization's provider, as the browser keeps it: any replica goes on with it. */
export interface Begun extends Checks {
  organization: string;
  issuer: string;
  /** The authorization to go on with; absent: the user's connections. */
  uid?: string | undefined;
}

export const BEGUN_MS = 600_000;

/** Seals what is under way into a cookie's value and back. */
export class BegunSeal {
  readonly #seal: Seal;

  constructor(secret: string) {
    this.#seal = new Seal(secret, 'federated-sign-in');
  }

  close(begun: Begun): string {
    return this.#seal.seal(Buffer.from(JSON.stringify({ ...begun, until: Date.now() + BEGUN_MS }))).toString('base64url');
  }

  /** @returns undefined for what is over or none of ours */
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
