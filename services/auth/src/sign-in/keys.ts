import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/** Derives a key for one purpose from the configured secret. */
function derive(secret: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', purpose, 32));
}

/** The key that signs cookies. */
export function cookieKey(secret: string): string {
  return derive(secret, 'cookies').toString('base64url');
}

/** Makes and checks the tokens of forms. A token is bound to one authorization or one browser. */
export class FormTokens {
  readonly #key: Buffer;

  constructor(secret: string) {
    this.#key = derive(secret, 'forms');
  }

  make(bound: string): string {
    return createHmac('sha256', this.#key).update(bound).digest('base64url');
  }

  isGood(token: unknown, bound: string): boolean {
    const expected = Buffer.from(this.make(bound));
    const given = Buffer.from(typeof token === 'string' ? token : '');
    return given.length === expected.length && timingSafeEqual(given, expected);
  }
}
