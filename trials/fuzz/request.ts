/** Generates requests, with the outcomes that the contract allows. */
import fc from 'fast-check';

/** A component of a request, such as a header, with the refusals that it causes or may cause. */
export interface Part<T> {
  value: T;
  /** The refusal that this component must cause. */
  fault?: string;
  /** Refusals that this component may cause. */
  maybe?: string[];
}

/** A request to `/mcp` with every outcome that the contract allows. */
export interface Fuzzed {
  /** Row of the table. */
  route: string;
  method: string;
  target: string;
  headers: [name: string, value: string][];
  /** A string is sent as UTF-8. */
  body?: string | Buffer;
  /** The sender. */
  credential: Credential;
  /** Statuses (`404`), with the error in the message, if any (`200 bad_request`, `400 rpc -32600`). */
  expected: string[];
  /** The id that the response must have. */
  rpcId?: unknown;
}

/** The credential of a sender. */
export interface Credential {
  name: string;
  /** The value of `Authorization`. Undefined if the header isn't sent. */
  header: string | undefined;
  /** Whether it is valid. */
  isUsable: boolean;
  /** Texts that must not occur in its responses. */
  foreign: string[];
  /** The granted scopes. */
  scopes?: string[];
  /** Whether its rate limit is so low that the run exceeds it. */
  isScarce?: boolean;
}

/** Returns the possible outcomes. The components are in the order of their checks; the first one that must be refused determines the outcome. */
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

/** Generates mostly valid values, and sometimes others. */
export function mostly<T>(weight: number, usual: fc.Arbitrary<T>, ...others: fc.Arbitrary<T>[]): fc.Arbitrary<T> {
  return fc.oneof({ arbitrary: usual, weight: weight * others.length }, ...others.map((arbitrary) => ({ arbitrary, weight: 1 })));
}

const NEWLINE = '\r\n';

/** Removes headers without a value. */
export function headersOf(pairs: [name: string, value: string | undefined][]): [string, string][] {
  return pairs.filter((pair): pair is [string, string] => pair[1] !== undefined);
}

export type Sent = Pick<Fuzzed, 'method' | 'target' | 'headers' | 'body'>;

/** Serializes the request, for a connection of its own. */
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
/** The range, in bytes, in which Node's parser may or may not refuse a head as too large. */
const MARGIN = 400;

/** Changes the expected outcome of a request whose request line and headers are too large: it is refused before all other checks. */
export function bounded<T extends Sent & { expected: string[] }>(request: T): T {
  const { length } = headOf(request);
  if (length > MAX_HEAD + MARGIN) return { ...request, expected: ['431'] };
  return length > MAX_HEAD - MARGIN ? { ...request, expected: [...request.expected, '431'] } : request;
}

const SHOWN = 1_200;

/** Returns the request as printable text for the report. */
export function show(bytes: Buffer): string {
  const text = bytes
    .toString('latin1')
    .replace(/[^\x20-\x7e\n]/g, (char) => (char === '\r' ? '' : `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`));
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}... (${bytes.length} bytes)` : text;
}
