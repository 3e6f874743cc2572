/** Bytes that no client would send: cut into pieces, several requests at once, or changed at random. */
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { toolCall } from '@crs/testing/mcp';
import { EMAILS } from './records.ts';
import type { Verdict } from './oracle.ts';
import type { FuzzSystem } from './system.ts';
import { LEGACY, toolHeaders } from './tool-message.ts';
import { Connection, WireError, type WireAnswer } from './wire.ts';

export interface Raw {
  route: string;
  server: 'api' | 'tools';
  pieces: Buffer[];
  /** The statuses of all answers, in order; absent where any status below 500 is right. */
  statuses?: string[][];
}

/** Without an answer after this, the server is taken to wait for the rest of a request. */
const PATIENCE_MS = 150;

export function rawRequests(system: FuzzSystem): fc.Arbitrary<Raw> {
  return fc.oneof(
    { arbitrary: pipelined(system), weight: 3 },
    { arbitrary: oddBytes(system), weight: 3 },
    { arbitrary: mutated(system), weight: 4 },
  );
}

interface Simple {
  bytes: string;
  statuses: string[];
}

/** Requests whose answers are known. */
function simple({ api, keys }: FuzzSystem, close: boolean): fc.Arbitrary<Simple> {
  const key = keys[0]!.header!;
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
      request('DELETE /v1/calls/call_0', '', ['405']),
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

/** Several requests on one connection, cut anywhere. */
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
      // Where Node accepts the bytes, they are a request without a credential.
      return {
        route: `raw: no HTTP (${server})`,
        server,
        pieces: cut(bytes, cuts),
        statuses: [[status, server === 'api' ? '401' : '404']],
      };
    });
}

/** A good request with some bytes changed, removed or inserted. */
function mutated(system: FuzzSystem): fc.Arbitrary<Raw> {
  const { tools, users } = system;
  const message = JSON.stringify(toolCall('list_calls', { limit: 1 }));
  const head = toolHeaders(tools, users[0]!.header, { version: LEGACY })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
  const call = `POST /mcp HTTP/1.1\r\n${head}Connection: close\r\nContent-Length: ${message.length}\r\n\r\n${message}`;
  const base = fc.oneof(
    simple(system, true).map(({ bytes }) => ({ server: 'api' as const, bytes })),
    fc.constant({ server: 'tools' as const, bytes: call }),
  );
  const change = fc.tuple(
    fc.nat(),
    fc.constantFrom('put', 'drop', 'swap'),
    fc.oneof(fc.nat(255), fc.constantFrom(0, 10, 13, 32, 37, 44, 58, 34, 255)),
  );
  return fc
    .tuple(base, fc.array(change, { minLength: 1, maxLength: 4 }), fc.array(fc.nat(), { maxLength: 3 }))
    .map(([{ server, bytes }, changes, cuts]): Raw => {
      let changed = Buffer.from(bytes, 'latin1');
      for (const [place, how, byte] of changes) {
        const at = place % changed.length;
        const rest = changed.subarray(how === 'put' ? at : at + 1);
        changed = Buffer.concat([changed.subarray(0, at), ...(how === 'drop' ? [] : [Buffer.from([byte])]), rest]);
      }
      return { route: `raw: changed bytes (${server})`, server, pieces: cut(changed, cuts) };
    });
}

/** Sends the bytes on a connection of their own. */
export async function sendRaw(system: FuzzSystem, raw: Raw): Promise<Verdict> {
  const connection = new Connection(system[raw.server]);
  try {
    for (const piece of raw.pieces) {
      connection.send(piece);
      await sleep(0);
    }
    return raw.statuses ? await answered(connection, raw.statuses) : await survived(connection);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    return { outcome: 'no answer', violations: [`wire: ${error.message}`] };
  } finally {
    connection.close();
  }
}

async function answered(connection: Connection, expected: string[][]): Promise<Verdict> {
  const violations: string[] = [];
  const got: string[] = [];
  for (const statuses of expected) {
    const answer = await connection.read('GET');
    const { status, headers, text } = answer;
    got.push(String(status));
    if (!statuses.includes(String(status)))
      violations.push(`${status} instead of ${statuses.join(' or ')}: ${text.slice(0, 200)}`);
    violations.push(...problemsOf(answer));
    // The answer says `connection: close`, so the client knows that it must send the remaining requests again.
    if (headers.get('connection') === 'close') break;
  }
  const more = await connection.ended();
  if (more.length > 0) violations.push(`more answers than requests: ${more.toString('latin1', 0, 200)}`);
  return { outcome: expected.length === 1 ? got[0]! : 'all answered', violations };
}

/** Any statuses are right, as long as none is an error of the server. */
async function survived(connection: Connection): Promise<Verdict> {
  const patience = sleep(PATIENCE_MS, undefined);
  const first = await Promise.race([connection.read('GET').catch((error: unknown) => error), patience]);
  if (first === undefined) return { outcome: 'waits', violations: [] };
  if (first instanceof WireError)
    return first.isSilence
      ? { outcome: 'hung up', violations: [] }
      : { outcome: 'no answer', violations: [`wire: ${first.message}`] };
  if (first instanceof Error) throw first;
  const answer = first as WireAnswer;
  const violations = problemsOf(answer);
  if (answer.status >= 500) violations.push(`status ${answer.status}: ${answer.text.slice(0, 200)}`);
  return { outcome: String(answer.status), violations };
}

/** What Node's parser refuses has no headers of ours and no body. */
function problemsOf({ status, headers, text }: WireAnswer): string[] {
  if ([400, 408, 431].includes(status) && text === '' && headers.get('connection') === 'close') return [];
  const problems: string[] = [];
  if (!/^[0-9a-f]{32}$/.test(headers.get('x-request-id') ?? '')) problems.push('no X-Request-Id');
  if (status >= 400 && text !== '' && !/^\{"(error|jsonrpc)":/.test(text)) problems.push(`no envelope: ${text.slice(0, 200)}`);
  return problems;
}
