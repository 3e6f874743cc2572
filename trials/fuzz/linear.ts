/** Requests with a text that repeats itself, at two sizes: the time of an answer must grow at most linearly with the size. */
import fc from 'fast-check';
import { toolCall } from '@crs/testing/mcp';
import { leastLoopMs, mainThreadMs } from './loop-time.ts';
import { EMAILS } from './records.ts';
import { bytesOf, show, type Sent } from './request.ts';
import type { FuzzSystem } from './system.ts';
import { LEGACY, toolHeaders } from './tool-message.ts';
import { Connection, WireError } from './wire.ts';

/** A place for text in a request. */
interface Place {
  name: string;
  server: 'api' | 'tools';
  /** The longest text, in bytes. */
  room: number;
  encode: (text: string) => string;
  put: (encoded: string) => Sent;
}

interface Repeated {
  place: Place;
  prefix: string;
  unit: string;
  suffix: string;
}

/** Below the limits of a head and of a body. */
const ROOM = { head: 14_000, body: 63_000 };
const SHARE = 8;
/** Times below this are noise. */
const NOISE_MS = 5;
/** Quadratic time at the whole size is 64 times that at an eighth, linear time 8 times. */
const MOST_GROWTH = 2 * SHARE;

const PREFIXES = ['', '2025-01-01T00:00:00.', '2025-01-01', '-', 'Bearer ', 'Bearer crk_', '"', 'W/"', 'application/json', 'a@', 'a;a=', '[', '{"a":', 'call_', '%', '00-']; // prettier-ignore
const UNITS = ['0', '1', 'a', 'A', ' ', '-', '.', ',', ', ', ';', '"', 'W/"a",', '=', '%', '%2', '/', '\\', '\\"', '[', '{"a":', '[],', ':', '@', '+', 'é', '*/*,', ';q=1', 'a=b;', '\t']; // prettier-ignore
const SUFFIXES = ['', 'x', '!', '"', '\\', ']', 'Z', '+01:00', '@', ',', '\u00ff'];

const QUERIES = ['start_date', 'end_date', 'updated_since', 'page', 'per_page', 'include_verbatim', 'nonsense'];
const PATHS = ['/v1/calls/', '/v1/projects/', '/v1/', '/', '/docs/assets/'];
const TOOL_PATHS = ['/', '/.well-known/', '/sign-in/', '/connections/', '/authorize?redirect_uri=', '/authorize?state='];
const HEADERS = ['Authorization', 'Accept', 'Accept-Encoding', 'If-None-Match', 'Content-Type', 'Idempotency-Key', 'Cookie', 'Expect', 'Host', 'Origin', 'X-Forwarded-For', 'traceparent', 'tracestate', 'baggage', 'MCP-Protocol-Version', 'Mcp-Method', 'Mcp-Name']; // prettier-ignore
const FIELDS = ['name', 'lead_email', 'billing_office_name', 'summary'];
const ARGUMENTS = { list_calls: ['date_after', 'segment_contains', 'cursor', 'scope', 'nonsense'], get_call: ['call_id'], list_entities: ['project_id', 'name_contains'] }; // prettier-ignore

const asJson = (text: string) => JSON.stringify(text).slice(1, -1);
const asHeader = (text: string) => text.replace(/[^\t\x20-\x7e\x80-\xff]/g, '');

function places({ api, tools, keys, users }: FuzzSystem): Place[] {
  const [key, token] = [keys[0]!.header!, users[0]!.header!];
  const get = (host: string, target: string, more: [string, string][] = []): Sent => ({
    method: 'GET',
    target,
    headers: [['Host', host] as [string, string], ['Authorization', key] as [string, string]]
      .filter(([name]) => !more.some(([other]) => other === name))
      .concat(more),
  });
  const post = (body: string): Sent => ({
    method: 'POST',
    target: '/v1/projects',
    headers: [
      ['Host', api],
      ['Authorization', key],
      ['Content-Type', 'application/json'],
    ],
    body,
  });
  const message = (body: string): Sent => ({
    method: 'POST',
    target: '/mcp',
    headers: toolHeaders(tools, token, { version: LEGACY }),
    body,
  });
  const head = { room: ROOM.head, encode: encodeURIComponent };
  const field = (name: string, text: string) => `{"lead_email":"${EMAILS.ann}","name":"x","${name}":"${text}"}`;
  const call = (tool: string, args: string) =>
    JSON.stringify(toolCall(tool, {})).replace('"arguments":{}', `"arguments":${args}`);
  return [
    ...QUERIES.map((name): Place => ({ ...head, name, server: 'api', put: (text) => get(api, `/v1/calls?${name}=${text}`) })),
    ...PATHS.map((path): Place => ({ ...head, name: path, server: 'api', put: (text) => get(api, path + text) })),
    ...TOOL_PATHS.map((path): Place => ({ ...head, name: path, server: 'tools', put: (text) => get(tools, path + text) })),
    ...HEADERS.flatMap((name): Place[] => [
      { ...head, name, server: 'api', encode: asHeader, put: (text) => get(api, '/v1/calls/x', [[name, text]]) },
      { ...head, name, server: 'tools', encode: asHeader, put: (text) => get(tools, '/mcp', [[name, text]]) },
    ]),
    { name: 'body', server: 'api', room: ROOM.body, encode: String, put: post },
    { name: 'members', server: 'api', room: ROOM.body, encode: asJson, put: (text) => post(`{"member_emails":["${text}"]}`) },
    ...FIELDS.map((name): Place => ({
      name,
      server: 'api',
      room: ROOM.body,
      encode: asJson,
      put: (text) => post(field(name, text)),
    })),
    { name: 'message', server: 'tools', room: ROOM.body, encode: String, put: message },
    ...Object.entries(ARGUMENTS).flatMap(([tool, names]) =>
      names.map((name): Place => ({
        name: `${tool} ${name}`,
        server: 'tools',
        room: ROOM.body,
        encode: asJson,
        put: (text) => message(call(tool, `{"${name}":"${text}"}`)),
      })),
    ),
  ];
}

function make({ place, prefix, unit, suffix }: Repeated, share: number): Sent {
  const [start, repeated, end] = [place.encode(prefix), place.encode(unit), place.encode(suffix)];
  const room = place.room / share - Buffer.byteLength(start + end);
  return place.put(start + repeated.repeat(Math.max(1, Math.floor(room / Math.max(1, Buffer.byteLength(repeated))))) + end);
}

/** Sends some of these requests, one at a time. @returns the smallest whose time grows faster than its size, if there is one */
export async function superlinear(system: FuzzSystem, { seed, count }: { seed: number; count: number }): Promise<string[]> {
  const repeated: fc.Arbitrary<Repeated> = fc.record({
    place: fc.constantFrom(...places(system)),
    prefix: fc.constantFrom(...PREFIXES),
    unit: fc.oneof(fc.constantFrom(...UNITS), fc.string({ minLength: 1, maxLength: 4 })),
    suffix: fc.constantFrom(...SUFFIXES),
  });
  const time = async ({ place, ...text }: Repeated, share: number, enough: number) => {
    const request = make({ place, ...text }, share);
    const connection = new Connection(system[place.server]);
    const send = () =>
      connection.exchange(bytesOf(request), request.method).catch((error) => {
        connection.close();
        if (!(error instanceof WireError)) throw error;
      });
    const gateway = system.pids.get(place.server === 'api' ? 'api-gateway' : 'tool-gateway')!;
    const ms = await leastLoopMs(send, () => mainThreadMs(gateway), enough);
    connection.close();
    return ms;
  };
  const property = fc.asyncProperty(repeated, async (each) => {
    const whole = await time(each, 1, NOISE_MS);
    if (whole <= NOISE_MS) return;
    const eighth = await time(each, SHARE, 0);
    if (whole > NOISE_MS + MOST_GROWTH * eighth)
      throw new Error(`${whole.toFixed(0)} ms of the event loop, at an eighth of the size ${eighth.toFixed(1)} ms`);
  });
  const { counterexample, errorInstance } = await fc.check(property, { seed, numRuns: count });
  if (!counterexample) return [];
  const [found] = counterexample;
  return [`${found.place.name}: ${(errorInstance as Error).message}\n${show(bytesOf(make(found, 1))).replace(/^/gm, '  | ')}`];
}
