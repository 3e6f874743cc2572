/** An HTTP/1.1 client that sends raw bytes and parses responses strictly. */
import { createConnection } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { bytesOf, type Sent } from './request.ts';

export interface WireResponse {
  status: number;
  headers: Headers;
  text: string;
  /** The parsed body; undefined if it isn't JSON. */
  // oxlint-disable-next-line typescript/no-explicit-any -- callers access any property
  json: any;
}

/** Thrown if the server sends no response, or one that isn't valid HTTP. */
export class WireError extends Error {}

const TIMEOUT_MS = 30_000;
const UTF8 = new TextDecoder('utf-8', { fatal: true });
/** May occur repeatedly. */
const REPEATABLE = new Set(['set-cookie', 'vary']);

/** Sends a request on a connection of its own. @param server `host:port` @throws WireError */
export async function sendRequest(server: string, request: Sent): Promise<WireResponse> {
  const [response, ...more] = parseResponses(await sendPieces(server, [bytesOf(request)]), request.method);
  if (response === undefined) throw new WireError('the connection was closed without a response');
  if (more.length > 0) throw new WireError(`more responses than requests: ${more[0]!.status}`);
  return response;
}

/**
 * Sends each piece in a separate event-loop iteration, on a new connection.
 * @returns the bytes received until the server closes the connection @throws WireError if it doesn't close it in time
 */
export async function sendPieces(server: string, pieces: Buffer[]): Promise<Buffer> {
  const [host, port] = server.split(':');
  const socket = createConnection({ host: host!, port: Number(port), noDelay: true });
  const received: Buffer[] = [];
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>();
  // A server may respond and close the connection before it has read the whole request. That is a valid response.
  socket.on('error', () => {});
  socket.on('data', (chunk: Buffer) => received.push(chunk));
  socket.on('end', resolve).on('close', () => resolve());
  const timer = setTimeout(() => reject(new WireError(`no response within ${TIMEOUT_MS / 1000} s`)), TIMEOUT_MS);
  try {
    for (const piece of pieces) {
      socket.write(piece);
      await sleep(0);
    }
    await ended;
    return Buffer.concat(received);
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}

/** Parses the responses in these bytes, without interim ones. @param method of all requests @throws WireError */
export function parseResponses(bytes: Buffer, method: string): WireResponse[] {
  const responses: WireResponse[] = [];
  for (let rest = bytes; rest.length > 0;) {
    const bodyStart = rest.indexOf('\r\n\r\n', 0, 'latin1') + 4;
    if (bodyStart < 4) throw new WireError(`no head: ${rest.toString('latin1', 0, 200)}`);
    const [statusLine = '', ...lines] = rest.toString('latin1', 0, bodyStart).trimEnd().split('\r\n');
    const status = Number(/^HTTP\/1\.1 ([1-5]\d\d) [\x20-\x7e]*$/.exec(statusLine)?.[1] ?? NaN);
    if (Number.isNaN(status)) throw new WireError(`no status line: ${statusLine.slice(0, 200)}`);
    const headers = parseHeaders(lines);
    rest = rest.subarray(bodyStart);
    if (status < 200) continue;
    // The server refuses a head that is too large before it knows the method, so that refusal has a body even for HEAD.
    const isEmpty = (method === 'HEAD' && status !== 431) || status === 204 || status === 304;
    const { body, after } = isEmpty ? { body: Buffer.alloc(0), after: rest } : takeBody(rest, headers);
    const text = decode(body);
    responses.push({ status, headers, text, json: parseJson(headers, text) });
    rest = after;
  }
  return responses;
}

function takeBody(bytes: Buffer, headers: Headers): { body: Buffer; after: Buffer } {
  const take = (from: number, length: number) => {
    if (from + length > bytes.length) throw new WireError('the connection was closed before the response was complete');
    return bytes.subarray(from, from + length);
  };
  const length = headers.get('content-length');
  if (length !== null) {
    if (!/^\d+$/.test(length)) throw new WireError(`Content-Length: ${length}`);
    return { body: take(0, Number(length)), after: bytes.subarray(Number(length)) };
  }
  // Without a length, the body ends with the connection, as in HTTP/1.0.
  if (!headers.has('transfer-encoding')) return { body: bytes, after: Buffer.alloc(0) };
  if (headers.get('transfer-encoding') !== 'chunked') throw new WireError('a body with neither length nor chunks');
  const chunks: Buffer[] = [];
  for (let at = 0; ;) {
    const start = bytes.indexOf('\r\n', at, 'latin1') + 2;
    const size = parseInt(bytes.toString('latin1', at, start), 16);
    chunks.push(take(start, size));
    take(start, size + 2);
    at = start + size + 2;
    if (size === 0) return { body: Buffer.concat(chunks), after: bytes.subarray(at) };
  }
}

function parseHeaders(lines: string[]): Headers {
  const headers = new Headers();
  for (const line of lines) {
    const [, name = '', value = ''] = /^([!#$%&'*+.^_`|~\w-]+): ?([\x20-\x7e]*)$/.exec(line) ?? [];
    if (name === '') throw new WireError(`no header: ${line.slice(0, 200)}`);
    if (headers.has(name) && !REPEATABLE.has(name.toLowerCase())) throw new WireError(`${name} twice`);
    headers.append(name, value);
  }
  return headers;
}

function decode(bytes: Buffer): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw new WireError('the body is not UTF-8');
  }
}

function parseJson(headers: Headers, text: string): unknown {
  if (text === '' || !headers.get('content-type')?.startsWith('application/json')) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw new WireError(`the body is not JSON: ${text.slice(0, 200)}`);
  }
}
