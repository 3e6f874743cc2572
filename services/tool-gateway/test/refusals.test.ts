import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { postMcp } from '@crs/testing/mcp';
import { startWorld, type World } from '@crs/testing/world';

let world: World;
let authorization: string;
let narrow: string;
let address: string;

beforeAll(async () => {
  world = await startWorld();
  await world.load([
    { type: 'organization', id: 'acme', name: 'Acme', tool_rate_limit: { requests: 100_000, period_seconds: 60 } },
    { type: 'user', organization: 'acme', email: 'ann@acme.example', name: 'Ann' },
  ]);
  const issue = async (scopes: string[]) => {
    const request = { email: 'ann@acme.example', scopes, expiresInSeconds: 0 };
    return `Bearer ${(await world.operator.auth.createToken(request, await world.operator.operator('acme'))).accessToken}`;
  };
  authorization = await issue([]);
  narrow = await issue(['projects:read']);
  address = world.stack.addresses.tools;
});
afterAll(() => world?.close());

const call = (name: string) => ({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name, arguments: {} } });

/** As a client of protocol version 2026-07-28 sends it. */
const modern = (name: string) => {
  const prefix = 'io.modelcontextprotocol';
  const _meta = {
    [`${prefix}/protocolVersion`]: '2026-07-28',
    [`${prefix}/clientCapabilities`]: {},
    [`${prefix}/clientInfo`]: { name: 'test', version: '1' },
  };
  const message = { ...call(name), params: { ...call(name).params, _meta } };
  return postMcp(address, message, {
    authorization,
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': name,
  });
};

describe('/mcp', () => {
  it('challenges a request without a token, and one with a bad one', async () => {
    const none = await postMcp(address, call('list_calls'));
    expect([none.status, none.headers.get('www-authenticate')]).toEqual([
      401,
      expect.stringMatching(/^Bearer resource_metadata=/),
    ]);
    const bad = await postMcp(address, call('list_calls'), { authorization: 'Bearer nonsense' });
    expect([bad.status, bad.headers.get('www-authenticate')]).toEqual([401, expect.stringContaining('error="invalid_token"')]);
  });

  it('answers an unknown tool by the error of the protocol, of either generation', async () => {
    for (const response of [await postMcp(address, call('nope'), { authorization }), await modern('nope')]) {
      const { id, error } = (await response.json()) as { id: number; error: { code: number } };
      expect([response.status, id, error.code]).toEqual([200, 7, -32602]);
    }
  });

  it('runs a tool for either generation', async () => {
    for (const response of [await postMcp(address, call('list_calls'), { authorization }), await modern('list_calls')]) {
      const { result } = (await response.json()) as { result: { structuredContent: unknown } };
      expect([response.status, result.structuredContent]).toEqual([200, { calls: [], next_cursor: null }]);
    }
  });

  it('asks for a scope that is missing', async () => {
    const response = await postMcp(address, call('list_calls'), { authorization: narrow });
    expect(response.status).toBe(403);
    expect(response.headers.get('www-authenticate')).toMatch(/error="insufficient_scope".*scope="calls:read"/);
  });

  it.each([
    ['[]', 400, -32600],
    ['{', 400, -32700],
  ])('refuses %s', async (body, status, code) => {
    const response = await postMcp(address, body, { authorization });
    const { error } = (await response.json()) as { error: { code: number } };
    expect([response.status, error.code]).toEqual([status, code]);
  });

  it.each([
    ['a strange origin', { origin: 'https://evil.example' }, 403],
    ['another media type', { 'content-type': 'text/plain' }, 415],
    ['an answer that is not wanted', { accept: 'application/json' }, 406],
  ])('refuses %s', async (_what, headers, status) => {
    expect((await postMcp(address, call('list_calls'), { authorization, ...headers })).status).toBe(status);
  });

  it('takes no other method, and no more than 1 MiB', async () => {
    const get = await fetch(`http://${address}/mcp`, { headers: { authorization } });
    expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST']);
    expect((await postMcp(address, ' '.repeat(1024 * 1024 + 1), { authorization })).status).toBe(413);
  });
});
