/** What requests about records have in common: the head, and the checks before the body. */
import fc from 'fast-check';
import { credentials, harmless } from './headers.ts';
import type { RecordKey } from './record-keys.ts';
import { bad, good, headersOf, mostly, type Credential, type Part, type Sent } from './request.ts';

/** A request with every outcome that the contract allows. */
export interface RecordRequest extends Sent {
  route: string;
  credential: Credential;
  /** A status and an error's code (`404 not_found`), or a status and the result (`200 merged`). */
  expected: string[];
  /** What the response says of a body of lines, if its status is 200 or the lines were refused. */
  lines?: ExpectedLine[];
  /** All lines of the body, blank ones included. */
  lineCount?: number;
}

/** A line that is not blank. */
export interface ExpectedLine extends Part<unknown> {
  /** Its position in the body, from 1. */
  number: number;
}

export const UNAUTHORIZED = '401 unauthorized';
export const NOT_FOUND = '404 not_found';
export const refusal = (status: number) => `${status} bad_request`;

const accepts = mostly(
  19,
  fc
    .constantFrom(undefined, '*/*', 'application/json', 'text/html, application/*;q=0.1')
    .map((value) => good<string | undefined>(value)),
  fc
    .constantFrom('text/html', 'application/x-ndjson', 'application/json;q=0')
    .map((value) => bad<string | undefined>(value, refusal(406))),
);
const encodings = mostly(
  19,
  fc.constantFrom(undefined, 'identity', 'IDENTITY').map((value) => good<string | undefined>(value)),
  fc.constantFrom('gzip', 'br', 'identity, gzip').map((value) => bad<string | undefined>(value, refusal(415))),
);
export const mediaTypes = (type: string) =>
  mostly(
    19,
    fc
      .constantFrom(type, type.toUpperCase(), `${type};charset=UTF-8`, `${type} ; charset="utf-8"`)
      .map((value) => good<string | undefined>(value)),
    fc
      .constantFrom(
        undefined,
        'text/plain',
        'application/xml',
        `${type}; charset=latin1`,
        'multipart/form-data; boundary=x',
        `${type}x`,
        '/',
      )
      .map((value) => bad<string | undefined>(value, refusal(415))),
  );

/** The head of a request, besides its path and media type. */
export interface Head {
  credential: RecordKey;
  accept: Part<string | undefined>;
  encoding: Part<string | undefined>;
  more: [string, string][];
}

/** Generates heads with keys of these, and others. */
export function heads(keys: RecordKey[]): fc.Arbitrary<Head> {
  return fc.record({
    credential: credentials(keys),
    accept: accepts,
    encoding: encodings,
    more: harmless,
  });
}

export function headers(api: string, { credential, accept, encoding, more }: Head, type: string | undefined): [string, string][] {
  const named: [string, string | undefined][] = [
    ['Host', api],
    ['Authorization', credential.header],
    ['Accept', accept.value],
    ['Content-Type', type],
    ['Content-Encoding', encoding.value],
  ];
  return [...headersOf(named), ...more];
}

/** What is checked before the body: the key, the media type of the response, and a right. */
export function firstParts({ credential: { isUsable, rights = [] }, accept }: Head, needed: string[]): Part<unknown>[] {
  const hasRight = needed.some((right) => rights.includes(right));
  return [isUsable ? good(null) : bad(null, UNAUTHORIZED), accept, hasRight ? good(null) : bad(null, NOT_FOUND)];
}
