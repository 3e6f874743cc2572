/** Generates bytes that no client would send: pipelined requests, requests in pieces, or invalid HTTP. */
import fc from 'fast-check';
import { EMAILS } from './records.ts';
import type { Verdict } from './oracle.ts';
import type { FuzzSystem } from './system.ts';
import { parseResponses, sendPieces, WireError, type WireResponse } from './wire.ts';

export interface Raw {
  route: string;
  server: 'api' | 'tools';
  pieces: Buffer[];
  /** The statuses of all responses, in order. */
  statuses: string[][];
  /**
   * True: the bytes aren't HTTP, so Node responds and closes the connection. If further bytes arrive then, the reset may overtake the response.
   */
  mayBeReset?: boolean;
}

export function rawRequests(system: FuzzSystem): fc.Arbitrary<Raw> {
  return fc.oneof(pipelined(system), oddBytes(system));
}

interface Simple {
  bytes: string;
  statuses: string[];
}

/** Requests with known responses. */
function simple({ api, key }: FuzzSystem, close: boolean): fc.Arbitrary<Simple> {
  const request = (line: string, more: string, statuses: string[], body = ''): Simple => ({
    bytes: `${line} HTTP/1.1\r\nHost: ${api}\r\nAuthorization: ${key}\r\n${more}${close ? 'Connection: close\r\n' : ''}\r\n${body}`,
    statuses,
  });
  const project = JSON.stringify({ name: 'raw', lead_email: EMAILS.ann });
  const post = (more: string, body: string, status = '201') =>
    request('POST /v1/projects', `Content-Type: application/json\r\n${more}`, [status], body);
  const chunked = (size: number) => {
    const chunks = project.match(new RegExp(`.{1,${size}}`, 'gs'))!;
    return `${chunks.map((chunk) => `${chunk.length.toString(16)};x=y\r\n${chunk}\r\n`).join('')}0\r\nTrailer: x\r\n\r\n`;
  };
  return fc.oneof(
    fc.constantFrom(
      request('GET /v1/calls/call_0', '', ['200']),
      request('GET /v1/calls/nope', '', ['404']),
      request('GET /v1/calls', '', ['400']),
      request('GET /v1/nothing', '', ['404']),
      // The key has no right to delete.
      request('DELETE /v1/calls/call_0', '', ['404']),
      request(`GET http://elsewhere:1/v1/calls/call_0`, '', ['200']),
      request('GET HTTPS://elsewhere/v1/calls/%FF?', '', ['404']),
      request('OPTIONS *', '', ['404']),
      request('GET /v1/calls/call_0', 'Content-Length: 3\r\n', ['200'], 'abc'),
      request('GET /v1/calls/call_0', `X-Large: ${'x'.repeat(12_000)}\r\n`, ['200']),
      post(`Content-Length: ${project.length}\r\n`, project),
      post('Content-Length: 0\r\n', '', '400'),
    ),
    fc.integer({ min: 1, max: 60 }).map((size) => post('Transfer-Encoding: chunked\r\n', chunked(size))),
  );
}

/** Generates several requests on one connection, split at random positions. */
function pipelined(system: FuzzSystem): fc.Arbitrary<Raw> {
  return fc
    .tuple(fc.array(simple(system, false), { maxLength: 8 }), simple(system, true), fc.array(fc.nat(), { maxLength: 6 }))
    .map(([first, last, cuts]): Raw => {
      const bytes = Buffer.from([...first, last].map((each) => each.bytes).join(''), 'latin1');
      return {
        route: 'raw: in pieces, in one go',
        server: 'api',
        pieces: cut(bytes, cuts),
        statuses: [...first, last].map(({ statuses }) => statuses),
      };
    });
}

function cut(bytes: Buffer, at: number[]): Buffer[] {
  const places = [0, ...at.map((place) => place % bytes.length).toSorted((a, b) => a - b), bytes.length];
  return places.slice(1).map((place, i) => bytes.subarray(places[i], place));
}

const BAD_LINES: [string, string][] = [
  ['GET /v1/calls HTTP/1.1', 'Content-Length: x'],
  ['GET /v1/calls HTTP/1.1', 'Content-Length: -1'],
  ['GET /v1/calls HTTP/1.1', 'Content-Length: 1, 2'],
  ['GET /v1/calls HTTP/1.1', 'Content-Length: 99999999999999999999999999'],
  ['POST /v1/projects HTTP/1.1', 'Content-Length: 1\r\nContent-Length: 2'],
  ['POST /v1/projects HTTP/1.1', 'Transfer-Encoding: chunked\r\nContent-Length: 2'],
  ['GET /v1/calls HTTP/1.1', 'X: a\0b'],
  ['GET /v1/calls HTTP/1.1', ': x'],
  ['GET /v1/calls HTTP/1.1', 'no colon'],
  ['GET /v1/calls HTTP/1.1', 'X Y: z'],
  ['GET /v1/calls HTTP/1.1', 'X: a\r\n folded'],
  ['get /v1/calls HTTP/1.1', 'X: y'],
  ['GET  /v1/calls HTTP/1.1', 'X: y'],
  ['GET /v1/calls HTTP/1.2', 'X: y'],
  ['GET /v1/calls HTTP/2.0', 'X: y'],
  ['GET /v1/calls\x01 HTTP/1.1', 'X: y'],
  ['GET /v1/calls/\xff HTTP/1.1', 'X: y'],
  ['GET v1/calls HTTP/1.1', 'X: y'],
  ['GET /v1/calls', 'X: y'],
  ['\x16\x03\x01 HTTP/1.1', 'X: y'],
  ['GET /v1/calls HTTP/1.1', `X: ${'x'.repeat(17_000)}`],
  ['GET /v1/calls HTTP/1.1', 'X: y\r\n'.repeat(4_000).trimEnd()],
  [`GET /v1/calls/${'x'.repeat(17_000)} HTTP/1.1`, 'X: y'],
];

function oddBytes({ api, tools }: FuzzSystem): fc.Arbitrary<Raw> {
  return fc
    .tuple(fc.constantFrom(...BAD_LINES), fc.constantFrom('api', 'tools'), fc.array(fc.nat(), { maxLength: 4 }))
    .map(([[line, header], server, cuts]): Raw => {
      const bytes = Buffer.from(
        `${line}\r\nHost: ${server === 'api' ? api : tools}\r\nConnection: close\r\n${header}\r\n\r\n`,
        'latin1',
      );
      const status = bytes.length > 16_384 ? '431' : '400';
      // If Node accepts the bytes, they are a request without a credential.
      return {
        route: `raw: no HTTP (${server})`,
        server,
        pieces: cut(bytes, cuts),
        statuses: [[status, server === 'api' ? '401' : '404']],
        mayBeReset: true,
      };
    });
}

/** Sends the bytes and checks the responses. */
export async function sendRaw(system: FuzzSystem, { server, pieces, statuses, mayBeReset }: Raw): Promise<Verdict> {
  const violations: string[] = [];
  const got: string[] = [];
  try {
    const responses = parseResponses(await sendPieces(system[server], pieces), 'GET');
    for (const [index, response] of responses.entries()) {
      const { status, text } = response;
      got.push(String(status));
      if (statuses[index]?.includes(String(status)) !== true)
        violations.push(`${status} instead of ${statuses[index]?.join(' or ')}: ${text.slice(0, 200)}`);
      violations.push(...problemsOf(response));
    }
    // After a response with `connection: close`, the client knows that it must send the remaining requests again.
    const isCut = responses.at(-1)?.headers.get('connection') === 'close';
    if (got.length < statuses.length && !isCut && !mayBeReset) violations.push(`${got.length} responses of ${statuses.length}`);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    violations.push(`wire: ${error.message}`);
  }
  return { outcome: got.length === 1 ? got[0]! : `${got.length} responses`, violations };
}

/** Checks our headers and the body, which are absent from refusals of Node's parser. */
function problemsOf({ status, headers, text }: WireResponse): string[] {
  if ([400, 408, 431].includes(status) && text === '' && headers.get('connection') === 'close') return [];
  const problems: string[] = [];
  if (!/^[0-9a-f]{32}$/.test(headers.get('x-request-id') ?? '')) problems.push('no X-Request-Id');
  if (status >= 400 && !text.startsWith('{"error":{"code":"')) problems.push(`no envelope: ${text.slice(0, 200)}`);
  return problems;
}
