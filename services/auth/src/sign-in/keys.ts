import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { Secrets } from '@crs/kit/process/secrets';

/** Derives a key for one purpose from each of the secrets. */
function derive(secrets: Secrets, purpose: string): Buffer[] {
  return secrets.map(({ secret }) => Buffer.from(hkdfSync('sha256', secret, '', purpose, 32)));
}

/** The keys of cookies. The first one signs, all verify. */
export function cookieKeys(secrets: Secrets): string[] {
  return derive(secrets, 'cookies').map((key) => key.toString('base64url'));
}

/** Makes and checks the tokens of forms. A token is bound to one authorization or one browser. */
export class FormTokens {
  readonly #keys: Buffer[];

  constructor(secrets: Secrets) {
    this.#keys = derive(secrets, 'forms');
  }

  make(bound: string): string {
    return sign(this.#keys[0]!, bound);
  }

  isGood(token: unknown, bound: string): boolean {
    const given = Buffer.from(typeof token === 'string' ? token : '');
    return this.#keys.some((key) => {
      const expected = Buffer.from(sign(key, bound));
      return given.length === expected.length && timingSafeEqual(given, expected);
    });
  }
}

function sign(key: Buffer, bound: string): string {
  return createHmac('sha256', key).update(bound).digest('base64url');
}
