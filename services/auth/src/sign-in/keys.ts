import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/** Keys for one purpose each, from the configured secret. */
function derive(secret: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', purpose, 32));
}

/** What cookies are signed with. */
export function cookieKey(secret: string): string {
  return derive(secret, 'cookies').toString('base64url');
}

/** Makes and checks the token of a form, bound to the interaction or the browser that the form was made for. */
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
