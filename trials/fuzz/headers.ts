/** Credentials, and headers that any request may have. */
import fc from 'fast-check';
import { mostly, type Credential } from './request.ts';

const BAD_CREDENTIALS = [
  '',
  'Bearer',
  'Bearer ',
  'Basic YTpi',
  'Bearer crk_',
  `Bearer crk_${'a'.repeat(32)}`,
  'Bearer \xff\xfe',
  'crk_x',
  'Bearer a b',
  'null',
];

/** Usually a valid token, in any allowed spelling. */
export function credentials(of: Credential[]): fc.Arbitrary<Credential> {
  const nobody = (header: string | undefined): Credential => ({
    name: 'nobody',
    header,
    isUsable: false,
    foreign: ['mark-'],
  });
  const plenty = of.filter(({ isScarce }) => !isScarce);
  const spelled = fc
    .tuple(fc.constantFrom(...plenty), fc.constantFrom('Bearer ', 'bearer ', 'BEARER   '))
    .map(([credential, scheme]) => ({
      ...credential,
      header: credential.header!.replace('Bearer ', scheme),
    }));
  const spoilt = fc
    .tuple(fc.constantFrom(...plenty), fc.nat(), fc.constantFrom('', 'x', '\t', '%', '\xe9'))
    .map(([{ header }, at, char]) => {
      const place = 8 + (at % (header!.length - 8));
      return nobody(header!.slice(0, place) + char + header!.slice(place + (char === '' ? 1 : 0)) + (char === '\t' ? 'x' : ''));
    });
  return mostly(
    9,
    spelled,
    fc.constantFrom(...of),
    fc.constantFrom(undefined, ...BAD_CREDENTIALS).map(nobody),
    spoilt,
    headerText(0, 8_000).map((value) => nobody(`Bearer ${value}`)),
  );
}

/** Text allowed in a header: ISO 8859-1 without control characters. */
export function headerText(min: number, max: number): fc.Arbitrary<string> {
  const unit = fc
    .oneof(fc.integer({ min: 0x21, max: 0x7e }), fc.integer({ min: 0x80, max: 0xff }))
    .map((code) => String.fromCharCode(code));
  const long = fc.tuple(unit, fc.integer({ min, max })).map(([char, length]) => char.repeat(length));
  return mostly(9, fc.string({ unit, minLength: min, maxLength: Math.min(max, 60) }), long);
}

/** Headers whose values don't affect the response. */
export const harmless: fc.Arbitrary<[string, string][]> = mostly(
  3,
  fc.constant<[string, string][]>([]),
  fc.shuffledSubarray<[string, string]>([
    ['traceparent', '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'],
    ['traceparent', 'nonsense'],
    ['tracestate', 'a=b,,='],
    ['baggage', 'tenant=beta'],
    ['X-Request-Id', 'mine'],
    ['X-Forwarded-For', '10.0.0.1, nonsense'],
    ['X-Forwarded-Host', 'evil.example'],
    ['Forwarded', 'for=_x'],
    ['Range', 'bytes=0-1'],
    ['If-Match', '"x"'],
    ['If-Modified-Since', 'Wed, 21 Oct 2026 07:28:00 GMT'],
    ['If-Unmodified-Since', 'never'],
    ['Cache-Control', 'no-cache'],
    ['Accept-Encoding', 'gzip, br;q=nonsense'],
    ['Accept-Language', '\xff'],
    ['Cookie', 'a=b; c'],
    ['X-HTTP-Method-Override', 'DELETE'],
    ['X-Api-Key', 'x'],
    ['__proto__', 'x'],
    ['constructor', 'x'],
    ['X-Large', 'x'.repeat(6_000)],
    ['Expect', 'nonsense'],
    ['Upgrade', 'h2c'],
    ['Date', ''],
  ]),
  headerText(1, 4_000).map((value): [string, string][] => [['X-Fuzz', value]]),
);
