import { beforeAll, describe, expect, it } from 'vitest';
import { sendRaw } from '@crs/testing/send-raw';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { INSTRUCTIONS } from '../src/protocol/serve-tools.ts';
import { ask as send, bearer, LEGACY, message, MODERN, spoken, toolCall, type Ask } from './_requests.ts';

const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];
const ANN = 'ann@acme.example';

let world: World;
let token: string;

beforeAll(async () => {
  world = await sharedWorld();
  for (const organization of [ACME, GLOBEX])
    await world.load([
      { type: 'organization', id: organization, tool_rate_limit: { requests: 100_000, period_seconds: 60 } },
      { type: 'user', organization, email: ANN, name: 'Ann' },
    ]);
  // Only globex has a call.
  await world.load([{ type: 'call', organization: GLOBEX, id: 'call_1', conducted_by: ANN }]);
  token = await bearer(world, ACME, ANN);
});

const ask = (request: Ask) => send(world.stack.addresses.tools, request);
const rpc = async (request: Ask) => {
  const { status, json } = await ask(request);
  return [status, json.id, json.error?.code];
};
/** A valid request with the given headers replaced. */
const listed = (headers: Record<string, string | undefined> = {}, version = LEGACY) => {
  const good = spoken(version, toolCall('list_calls'), token);
  return { ...good, headers: { ...good.headers, ...headers } };
};
const EMPTY = { calls: [], next_cursor: null };

describe('an invalid request', () => {
  it.each([
    ['empty', '', -32700],
    ['truncated JSON', '{"jsonrpc":"2.0"', -32700],
    ['a batch', [toolCall('list_calls')], -32600],
    ['an empty batch', [], -32600],
    ['a string', '"tools/list"', -32600],
    ['null', 'null', -32600],
    ['an object that is not a message', {}, -32600],
    ['a message with a null id', { ...toolCall('list_calls'), id: null }, -32600],
  ])('whose body is %s gets 400', async (_, body, code) => {
    expect(await rpc({ ...listed(), body })).toEqual([400, null, code]);
  });

  it('of another JSON-RPC version gets 400', async () => {
    expect(await rpc({ ...listed(), body: { ...toolCall('list_calls'), jsonrpc: '1.0' } })).toEqual([400, 7, -32600]);
  });

  it('whose body is not UTF-8 gets 400', async () => {
    const head = Object.entries(listed().headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const start = `POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${head.join('')}Content-Length: 3\r\n\r\n"`;
    const answer = await sendRaw(world.stack.addresses.tools, Buffer.concat([Buffer.from(start), Buffer.from([0xff, 0x22])]));
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('-32700');
  });

  it('whose body is 2 MB gets 413, with Content-Length or chunked, in both protocol generations', async () => {
    for (const version of [LEGACY, MODERN]) {
      for (const chunks of [undefined, 'chunked']) {
        const request = { ...listed({ 'transfer-encoding': chunks }, version), body: ' '.repeat(2_000_000) };
        expect((await ask(request)).status).toBe(413);
      }
    }
  });

  it('whose body is compressed gets 415', async () => {
    expect((await ask(listed({ 'content-encoding': 'gzip' }))).status).toBe(415);
  });

  it.each(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND'])('with the method %s gets 405', async (method) => {
    const { status, headers } = await ask({ ...listed(), method });
    expect([status, headers.allow]).toEqual([405, 'POST']);
  });

  it.each(['/mcp/', '/MCP', '/mcp/x', '/v1/calls', '/%FF'])('for the unknown path %s gets 404', async (path) => {
    const { status, json } = await ask({ ...listed(), path });
    expect([status, json.error.code]).toEqual([404, 'not_found']);
  });

  it.each([
    ['OPTIONS *', 'OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n', 404, 'not_found'],
    ['two Host headers', 'POST /mcp HTTP/1.1\r\nHost: localhost\r\nHost: x\r\nConnection: close\r\n\r\n', 403, 'unauthorized'],
    ['an empty Host header', 'POST /mcp HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n', 403, 'unauthorized'],
    [
      'an unknown Expect header',
      'POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nExpect: x\r\n\r\n',
      401,
      'unauthorized',
    ],
  ])('with %s is refused with the error envelope', async (_, bytes, status, code) => {
    const answer = await sendRaw(world.stack.addresses.tools, bytes);
    expect(Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1])).toBe(status);
    const [, id] = /^X-Request-Id: ([0-9a-f]{32})\r$/m.exec(answer)!;
    expect(JSON.parse(answer.slice(answer.indexOf('{'))).error).toMatchObject({ code, request_id: id });
    expect(answer).not.toMatch(/x-ratelimit/i);
  });
});

describe('media types', () => {
  it.each([
    [undefined, 415],
    ['text/plain', 415],
    ['application/x-www-form-urlencoded', 415],
    ['application/jsonl', 415],
    ['text/plain; application/json', 415],
    ['APPLICATION/JSON ; charset=utf-8', 200],
  ])('a body of type %s gets %i', async (type, status) => {
    for (const version of [LEGACY, MODERN]) expect((await ask(listed({ 'content-type': type }, version))).status).toBe(status);
  });

  it.each([
    ['application/json', 406],
    ['text/event-stream', 406],
    ['text/html', 406],
    ['application/json;q=0, */*', 406],
    ['*/*', 200],
    ['application/*, text/*;q=0.1', 200],
    ['TEXT/event-stream;q=0.9, Application/json', 200],
  ])('an Accept header of %s gets %i', async (accept, status) => {
    for (const version of [LEGACY, MODERN]) expect((await ask(listed({ accept }, version))).status).toBe(status);
  });
});

describe('protocol versions up to 2025-11-25', () => {
  it.each(['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', undefined])('%s is served', async (version) => {
    const { status, headers, json } = await ask(listed({ 'mcp-protocol-version': version }));
    expect([status, json.result.structuredContent]).toEqual([200, EMPTY]);
    expect(headers['content-type']).toMatch(/^application\/json/);
    expect(headers['mcp-session-id']).toBeUndefined();
  });

  it('an unknown version gets 400', async () => {
    expect(await rpc(listed({ 'mcp-protocol-version': '1999-01-01' }))).toEqual([400, null, -32000]);
  });

  it.each([
    ['2025-06-18', '2025-06-18'],
    ['1999-01-01', '2025-11-25'],
  ])('initialize with %s returns %s, the server info and the capabilities', async (requested, negotiated) => {
    const params = { protocolVersion: requested, capabilities: {}, clientInfo: { name: 'test', version: '1' } };
    const { json } = await ask({ ...listed({ 'mcp-protocol-version': undefined }), body: message('initialize', params) });
    expect(json.result).toMatchObject({
      protocolVersion: negotiated,
      capabilities: { tools: {} },
      serverInfo: { name: 'call-research', version: '0.5.0' },
      instructions: INSTRUCTIONS,
    });
    expect(json.result.capabilities.tools.listChanged).toBeUndefined();
  });

  it('a notification gets 202 without a body', async () => {
    const { status, text } = await ask({ ...listed(), body: { jsonrpc: '2.0', method: 'notifications/initialized' } });
    expect([status, text]).toEqual([202, '']);
  });

  it('an unknown method gets a JSON-RPC error', async () => {
    expect(await rpc({ ...listed(), body: message('nope') })).toEqual([200, 7, -32601]);
  });

  it.each(['nope', '', 'LIST_CALLS', 'constructor', undefined, 7])('the unknown tool %s gets a JSON-RPC error', async (name) => {
    expect(await rpc({ ...listed(), body: message('tools/call', { name, arguments: {} }) })).toEqual([200, 7, -32602]);
  });

  it.each([{}, { ttl: 60_000 }, 7])(
    'a call that requests the task %j gets its result directly, because tasks are not supported',
    async (task) => {
      const { status, json } = await ask({
        ...listed(),
        body: message('tools/call', { name: 'list_calls', arguments: {}, task }),
      });
      expect([status, json.result?.structuredContent]).toEqual([200, EMPTY]);
    },
  );

  it.each([undefined, {}, { name: 'list_calls', arguments: [] }])(
    'a call with parameters %j gets a JSON-RPC error',
    async (params) => {
      expect(await rpc({ ...listed(), body: { ...message('tools/call'), params } })).toEqual([200, 7, -32602]);
    },
  );
});

it('the instructions describe what the tools return and in which order to call them, and rule out text search', () => {
  expect(INSTRUCTIONS).toMatch(
    /expert interviews and recorded meetings.*summaries, key takeaways.*transcripts.*projects and entities/,
  );
  expect(INSTRUCTIONS).toMatch(/list_projects.*then list_calls.*then get_call.*list_entities/);
  expect(INSTRUCTIONS).toContain('There is no text search');
});

describe('protocol version 2026-07-28', () => {
  it('is served', async () => {
    const { status, headers, json } = await ask(listed({}, MODERN));
    expect([status, json.result]).toEqual([200, expect.objectContaining({ resultType: 'complete', structuredContent: EMPTY })]);
    expect(headers['content-type']).toMatch(/^application\/json/);
  });

  it('returns the server info and the capabilities for server/discover', async () => {
    const { json } = await ask(spoken(MODERN, message('server/discover'), token));
    expect(json.result.supportedVersions).toEqual([MODERN]);
    expect(JSON.stringify(json.result)).toContain('"version":"0.5.0"');
    expect(json.result.instructions).toBe(INSTRUCTIONS);
    expect(json.result.capabilities.tools.listChanged).toBeUndefined();
  });

  it('lists tools in a publicly cacheable response', async () => {
    const { json } = await ask(spoken(MODERN, message('tools/list'), token));
    expect(json.result).toMatchObject({ resultType: 'complete', cacheScope: 'public', ttlMs: expect.any(Number) });
    expect(json.result.tools).toHaveLength(4);
  });

  it.each(['2027-01-01', '1999-01-01'])('is named as supported in the 400 for the unknown version %s', async (version) => {
    const { status, json } = await ask(spoken(version, toolCall('list_calls'), token));
    expect([status, json.id, json.error.code, json.error.data.supported]).toEqual([400, 7, -32022, [MODERN]]);
  });

  it.each([
    ['mcp-protocol-version', undefined],
    ['mcp-protocol-version', LEGACY],
    ['mcp-method', undefined],
    ['mcp-method', 'tools/list'],
    ['mcp-name', undefined],
    ['mcp-name', 'get_call'],
  ])('requires headers that match the body: %s: %s gets 400', async (name, value) => {
    expect(await rpc(listed({ [name]: value }, MODERN))).toEqual([400, 7, -32020]);
  });

  it('returns 404 for an unknown method, and 200 with an error for an unknown tool', async () => {
    expect(await rpc(spoken(MODERN, message('nope'), token))).toEqual([404, 7, -32601]);
    expect(await rpc(spoken(MODERN, toolCall('nope'), token))).toEqual([200, 7, -32602]);
  });
});
