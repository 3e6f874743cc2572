/** Generated requests with the outcomes that the contract allows. */
import fc from 'fast-check';

/** A part of a request, such as a header, with the refusals that it causes or may cause. */
export interface Part<T> {
  value: T;
  /** The outcome of a part that must be refused. */
  fault?: string;
  /** Outcomes of a part that may be refused or not. */
  maybe?: string[];
}

/** A request to `/mcp` with every outcome that the contract allows. */
export interface Fuzzed {
  /** Its row in the table. */
  route: string;
  method: string;
  target: string;
  headers: [name: string, value: string][];
  /** Text is sent in UTF-8. */
  body?: string | Buffer;
  /** The sender. */
  credential: Credential;
  /** Statuses (`404`), with the error that the message holds (`200 bad_request`, `400 rpc -32600`). */
  expected: string[];
  /** The id that the response must repeat. */
  rpcId?: unknown;
}

/** The credential of a sender. */
export interface Credential {
  name: string;
  /** The value of `Authorization`; undefined where the header isn't sent. */
  header: string | undefined;
  /** Whether requests with it are served. */
  isUsable: boolean;
  /** Texts that no response to it may hold. */
  foreign: string[];
  /** The granted scopes. */
  scopes?: string[];
  /** Its limit is so low that the run uses it up. */
  isScarce?: boolean;
}

/** The possible outcomes. The parts are in the order of their checks, and the first part that must be refused decides. */
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

/** Mostly draws good values, and at times others. */
export function mostly<T>(weight: number, usual: fc.Arbitrary<T>, ...others: fc.Arbitrary<T>[]): fc.Arbitrary<T> {
  return fc.oneof({ arbitrary: usual, weight: weight * others.length }, ...others.map((arbitrary) => ({ arbitrary, weight: 1 })));
}

const NEWLINE = '\r\n';

/** Pairs without the headers that have no value. */
export function headersOf(pairs: [name: string, value: string | undefined][]): [string, string][] {
  return pairs.filter((pair): pair is [string, string] => pair[1] !== undefined);
}

export type Sent = Pick<Fuzzed, 'method' | 'target' | 'headers' | 'body'>;

/** The request in one piece. Its connection is for it alone. */
export function bytesOf(request: Sent): Buffer {
  const { body } = request;
  return Buffer.concat([headOf(request), ...(body === undefined ? [] : [Buffer.from(body as string)])]);
}

function headOf({ method, target, headers, body }: Sent): Buffer {
  const length = body === undefined ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
  const named = headers.map(([name, value]) => `${name}: ${value}`);
  const lines = [`${method} ${target} HTTP/1.1`, ...named, 'Connection: close', ...length, '', ''];
  return Buffer.from(lines.join(NEWLINE), 'latin1');
}

const MAX_HEAD = 16 * 1024;
/** Near the limit, in bytes, it depends on Node's parser whether a head is too large. */
const MARGIN = 400;

/** A request whose request line and headers are too large is refused before anything else is checked. */
export function bounded(request: Fuzzed): Fuzzed {
  const { length } = headOf(request);
  if (length > MAX_HEAD + MARGIN) return { ...request, expected: ['431'] };
  return length > MAX_HEAD - MARGIN ? { ...request, expected: [...request.expected, '431'] } : request;
}

const SHOWN = 1_200;

/** The request as printable text for the report. */
export function show(bytes: Buffer): string {
  const text = bytes
    .toString('latin1')
    .replace(/[^\x20-\x7e\n]/g, (char) => (char === '\r' ? '' : `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`));
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}... (${bytes.length} bytes)` : text;
}
