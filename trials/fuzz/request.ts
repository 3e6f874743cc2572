/** Generated requests, and what the contract says of their answers. */
import fc from 'fast-check';

/** A way in which part of a request may be refused: by that outcome, surely or perhaps. */
export interface Part<T> {
  value: T;
  /** The outcome, where this part surely breaks the contract. */
  fault?: string;
  /** Outcomes, where the contract leaves it open. */
  maybe?: string[];
}

/** A request as bytes, with every outcome that the contract admits. */
export interface Fuzzed {
  /** Its row in the table. */
  route: string;
  server: 'api' | 'tools';
  method: string;
  target: string;
  headers: [name: string, value: string][];
  /** Text is sent in UTF-8. */
  body?: string | Buffer;
  /** REST: the document's operation, where it has one. */
  operation?: { method: string; template: string };
  /** Whose rows and limit it is about. */
  credential: Credential;
  /** Statuses (`404`), and for messages to tools what they hold (`200 bad_request`, `400 rpc -32600`). */
  expected: string[];
  /** Tools: as an answer must repeat it. */
  rpcId?: unknown;
}

/** Who asks. */
export interface Credential {
  name: string;
  /** The value of `Authorization`; undefined: none is sent. */
  header: string | undefined;
  /** Whether it is one that is served. */
  isUsable: boolean;
  /** What `X-RateLimit-Limit` says of it. */
  limit: number;
  /** Texts that it must never be shown. */
  foreign: string[];
  /** REST: what the organization and the key may. */
  writes?: 'all' | 'reads' | 'none';
  /** Tools: what is granted. */
  scopes?: string[];
  /** Its limit is used up by and by. */
  isScarce?: boolean;
}

/** Parts in the order in which they are checked: the first that is surely at fault decides. */
export function outcomes(parts: Part<unknown>[], otherwise: string[]): string[] {
  const possible: string[] = [];
  for (const { fault, maybe } of parts) {
    if (maybe) possible.push(...maybe);
    if (fault !== undefined) return [...possible, fault];
  }
  return [...possible, ...otherwise];
}

export const good = <T>(value: T): Part<T> => ({ value });
export const bad = <T>(value: T, fault: string): Part<T> => ({ value, fault });
export const open = <T>(value: T, ...maybe: string[]): Part<T> => ({ value, maybe });

/** Mostly what is good, at times something else. */
export function mostly<T>(weight: number, usual: fc.Arbitrary<T>, ...others: fc.Arbitrary<T>[]): fc.Arbitrary<T> {
  return fc.oneof({ arbitrary: usual, weight: weight * others.length }, ...others.map((arbitrary) => ({ arbitrary, weight: 1 })));
}

const NEWLINE = '\r\n';

/** The request in one piece. */
export function bytesOf(request: Fuzzed): Buffer {
  const { body } = request;
  return Buffer.concat([headOf(request), ...(body === undefined ? [] : [Buffer.from(body as string)])]);
}

function headOf({ method, target, headers, body }: Pick<Fuzzed, 'method' | 'target' | 'headers' | 'body'>): Buffer {
  const length = body === undefined ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
  const lines = [`${method} ${target} HTTP/1.1`, ...headers.map(([name, value]) => `${name}: ${value}`), ...length, '', ''];
  return Buffer.from(lines.join(NEWLINE), 'latin1');
}

const MAX_HEAD = 16 * 1024;
/** What of a head counts depends on Node's parser. */
const MARGIN = 400;

/** Where request line and headers are too large, nothing else is looked at. */
export function bounded(request: Fuzzed): Fuzzed {
  const { length } = headOf(request);
  if (length > MAX_HEAD + MARGIN) return { ...request, expected: ['431'] };
  return length > MAX_HEAD - MARGIN ? { ...request, expected: [...request.expected, '431'] } : request;
}

const SHOWN = 1_200;

/** The request for a report: what can't be printed as escapes. */
export function show(bytes: Buffer): string {
  const text = bytes
    .toString('latin1')
    .replace(/[^\x20-\x7e\n]/g, (char) => (char === '\r' ? '' : `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`));
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}... (${bytes.length} bytes)` : text;
}
