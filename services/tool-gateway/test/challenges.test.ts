import { createPrivateKey, generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Encrypter } from '@crs/kit/data/encrypter';
import { parseSecrets } from '@crs/kit/process/secrets';
import { startRelay } from '@crs/testing/relay';
import { SECRET } from '@crs/testing/setup';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { ask as send, bearer, LEGACY, message, MODERN, spoken, startGateway, toolCall, type Ask } from './_requests.ts';

const ANN = 'ann@example.com';
const METADATA = 'http://tools.example/.well-known/oauth-protected-resource/mcp';
const ALL = 'calls:read projects:read entities:read';

const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];

let world: World;
/** A gateway configured as in production: it does not accept loopback host names. */
let strict: Awaited<ReturnType<typeof startGateway>>;
let token: string;

beforeAll(async () => {
  world = await sharedWorld();
  for (const organization of [ACME, GLOBEX]) {
    await world.load([
      { type: 'organization', id: organization, name: organization, tool_rate_limit: { requests: 100_000, period_seconds: 60 } },
      { type: 'user', organization, email: ANN, name: 'Ann' },
    ]);
  }
  token = await bearer(world, ACME, ANN);
  strict = await startGateway(world, { loopback: false, allowedOrigins: ['https://partner.example'] });
});
afterAll(() => strict?.stop());

const ask = (request: Ask) => send(world.stack.addresses.tools, request);
const listed = (authorization?: string, headers: Record<string, string> = {}) => {
  const good = spoken(LEGACY, toolCall('list_calls'), authorization);
  return { ...good, headers: { ...good.headers, ...headers } };
};
const challengeOf = async (request: Ask) => {
  const { status, headers, json } = await ask(request);
  return [status, json.error.code, headers['www-authenticate']];
};
const refused = [401, 'unauthorized', `Bearer error="invalid_token", resource_metadata="${METADATA}", scope="${ALL}"`];

describe('a token', () => {
  it('that is missing gets a challenge without an error code, for every method', async () => {
    const challenge = `Bearer resource_metadata="${METADATA}", scope="${ALL}"`;
    for (const method of ['POST', 'GET', 'DELETE', 'PUT', 'OPTIONS'])
      expect(await challengeOf({ ...listed(), method })).toEqual([401, 'unauthorized', challenge]);
  });

  it('in the query string is ignored, and not logged', async () => {
    const value = token.slice('Bearer '.length);
    expect((await ask({ ...listed(), path: `/mcp?access_token=${value}` })).status).toBe(401);
    expect((await ask({ ...listed('Bearer bad'), path: `/mcp?access_token=${value}` })).status).toBe(401);
    expect(world.log.join('')).not.toContain(value);
  });

  it.each(['Bearer', 'Bearer ', 'Basic YTpi', 'Bearer a b', 'Bearer a.b.c', 'Bearer crk_0000', `Bearer ${'x'.repeat(9_000)}`])(
    'that is malformed is refused: %s',
    async (authorization) => {
      expect(await challengeOf(listed(authorization))).toEqual(refused);
    },
  );

  it('is accepted with the scheme in any letter case', async () => {
    expect((await ask(listed(token.replace('Bearer', 'bEARER')))).status).toBe(200);
  });

  it('without the required scope gets 403 with a challenge that names the scope', async () => {
    const narrow = await bearer(world, ACME, ANN, ['projects:read']);
    const needs = { get_call: 'calls:read', list_calls: 'calls:read', list_entities: 'entities:read' };
    for (const version of [LEGACY, MODERN]) {
      for (const [tool, scope] of Object.entries(needs)) {
        const challenge = `Bearer error="insufficient_scope", resource_metadata="${METADATA}", scope="${scope}"`;
        expect(await challengeOf(spoken(version, toolCall(tool), narrow))).toEqual([403, 'unauthorized', challenge]);
      }
      expect((await ask(spoken(version, toolCall('list_projects'), narrow))).status).toBe(200);
      expect((await ask(spoken(version, message('tools/list'), narrow))).json.result.tools).toHaveLength(4);
    }
  });

  it('is refused once it is revoked or its user is disabled; other tokens still work', async () => {
    const operator = await world.operator.operator(GLOBEX);
    const issued = await world.operator.auth.createToken({ email: ANN, scopes: [], expiresInSeconds: 0 }, operator);
    const other = await bearer(world, GLOBEX, ANN);
    const statusOf = async (authorization: string) => (await ask(listed(authorization))).status;
    const first = `Bearer ${issued.accessToken}`;
    expect([await statusOf(first), await statusOf(other)]).toEqual([200, 200]);
    await world.operator.auth.revokeToken({ tokenId: issued.token!.tokenId }, operator);
    await vi.waitFor(async () => expect(await challengeOf(listed(first))).toEqual(refused), { timeout: 10_000, interval: 50 });
    expect(await statusOf(other)).toBe(200);
    await world.operator.auth.setUserDisabled({ email: ANN, disabled: true }, operator);
    await vi.waitFor(async () => expect(await statusOf(other)).toBe(401), { timeout: 10_000, interval: 50 });
    expect(await statusOf(token)).toBe(200);
  });
});

describe('a token crafted by the test', () => {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const decode = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>;
  const jwt = (header: object, payload: object, key?: KeyObject) => {
    const content = `${encode(header)}.${encode(payload)}`;
    return `Bearer ${content}.${key ? sign(null, Buffer.from(content), key).toString('base64url') : ''}`;
  };
  let header: Record<string, unknown>;
  let payload: Record<string, unknown>;
  let key: KeyObject;

  beforeAll(async () => {
    const [first = '', second = ''] = token.slice('Bearer '.length).split('.');
    [header, payload] = [decode(first), decode(second)];
    const id = String(header['kid']);
    const { rows } = await world.query('select private_key_encrypted as encrypted from auth.token_keys where key_id = $1', [id]);
    key = createPrivateKey(new Encrypter(parseSecrets(SECRET), 'token-keys').decrypt(rows[0].encrypted, id).toString());
  });

  it('with our key and unchanged claims is accepted', async () => {
    expect(payload).toMatchObject({ aud: 'http://tools.example/mcp', iss: 'http://tools.example', organization: ACME });
    expect((await ask(listed(jwt(header, payload, key)))).status).toBe(200);
  });

  const foreign = generateKeyPairSync('ed25519').privateKey;
  it.each<[string, () => string]>([
    ['for another audience', () => jwt(header, { ...payload, aud: 'http://elsewhere.example/mcp' }, key)],
    ['whose audience is only our origin', () => jwt(header, { ...payload, aud: 'http://tools.example' }, key)],
    ['of another issuer', () => jwt(header, { ...payload, iss: 'http://elsewhere.example' }, key)],
    ['that has expired', () => jwt(header, { ...payload, exp: Math.floor(Date.now() / 1000) - 1 }, key)],
    ['that is not an access token', () => jwt({ ...header, typ: 'JWT' }, payload, key)],
    ['signed with another key', () => jwt(header, payload, foreign)],
    ['with an unknown key id', () => jwt({ ...header, kid: 'unknown' }, payload, foreign)],
    ['with the algorithm none', () => jwt({ ...header, alg: 'none' }, payload)],
    ['without a signature', () => jwt(header, payload)],
    ['for another organization', () => jwt(header, { ...payload, organization: GLOBEX }, key)],
    ['for the organization *', () => jwt(header, { ...payload, organization: '*' }, key)],
    ['for another user', () => jwt(header, { ...payload, sub: crypto.randomUUID() }, key)],
    ['of an unknown grant', () => jwt(header, { ...payload, grant_id: 'grant_unknown' }, key)],
  ])('%s gets 401', async (_, make) => {
    expect(await challengeOf(listed(make()))).toEqual(refused);
  });
});

describe('while auth is down', () => {
  it('any token gets 503 once its cached result expired, a missing token gets 401, and the gateway recovers by itself', async () => {
    const way = await startRelay(world.stack.addresses.auth);
    const gateway = await startGateway(world, { authAddress: way.address, timeoutMs: 1_000 });
    try {
      const statusOf = async (request: Ask) => (await send(gateway.address, request)).status;
      expect(await statusOf(listed(token))).toBe(200);
      await way.close();
      await vi.waitFor(async () => expect(await statusOf(listed(token))).toBe(503), { timeout: 10_000, interval: 50 });
      // Without auth the gateway can't tell a good token from a bad one, so 401 would be wrong.
      for (const request of [listed(token), listed('Bearer bad'), { ...listed(token), method: 'GET' }]) {
        const { status, headers, json } = await send(gateway.address, request);
        expect([status, headers['retry-after'], json.error.code]).toEqual([503, '1', 'internal_error']);
        expect(headers['www-authenticate']).toBeUndefined();
      }
      expect(await statusOf(listed())).toBe(401);
      await way.open();
      await vi.waitFor(async () => expect(await statusOf(listed(token))).toBe(200), { timeout: 10_000, interval: 50 });
    } finally {
      await gateway.stop();
      await way.close();
    }
  });
});

describe('Host and Origin', () => {
  it.each<[Record<string, string>, number]>([
    [{ host: 'tools.example' }, 200],
    [{ host: 'TOOLS.example' }, 200],
    [{ host: 'tools.example.evil.example' }, 403],
    [{ host: 'tools.example:81' }, 403],
    [{ host: 'localhost' }, 403],
    [{ host: '127.0.0.1' }, 403],
    [{ host: '' }, 403],
    [{ host: 'tools.example', 'x-forwarded-host': 'evil.example' }, 200],
    [{ host: 'evil.example', 'x-forwarded-host': 'tools.example' }, 403],
    [{ host: 'tools.example', origin: 'http://tools.example' }, 200],
    [{ host: 'tools.example', origin: 'https://partner.example' }, 200],
    [{ host: 'tools.example', origin: 'https://tools.example' }, 403],
    [{ host: 'tools.example', origin: 'http://localhost:3000' }, 403],
    [{ host: 'tools.example', origin: 'https://partner.example.evil.example' }, 403],
    [{ host: 'tools.example', origin: 'null' }, 403],
  ])('in production: %j gets %i', async (headers, status) => {
    const answer = await send(strict.address, listed(token, headers));
    expect(answer.status).toBe(status);
    // A refusal does not reveal which origins are allowed.
    expect(answer.headers['access-control-allow-origin']).toBe(status === 200 ? headers['origin'] : undefined);
  });

  it.each([
    [{ host: 'localhost:1234' }, 200],
    [{ host: '[::1]:1234' }, 200],
    [{ host: 'localhost.evil.example' }, 403],
    [{ origin: 'http://localhost:6274' }, 200],
    [{ origin: 'http://127.0.0.1' }, 200],
    [{ origin: 'http://127.0.0.1.evil.example' }, 403],
    [{ origin: 'null' }, 403],
  ])('with loopback names allowed: %j gets %i', async (headers, status) => {
    expect((await ask(listed(token, headers))).status).toBe(status);
  });

  it('of a preflight: an allowed origin is required, but no token', async () => {
    const preflight = (origin: string) => ({
      method: 'OPTIONS',
      headers: {
        host: 'tools.example',
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type,mcp-protocol-version',
      },
    });
    const { status, headers, text } = await send(strict.address, preflight('https://partner.example'));
    expect([status, text]).toEqual([204, '']);
    expect(headers).toMatchObject({
      'access-control-allow-origin': 'https://partner.example',
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': 'Authorization, Content-Type, MCP-Protocol-Version, Mcp-Method, Mcp-Name',
      vary: 'Origin',
    });
    expect(headers['access-control-allow-credentials']).toBeUndefined();
    expect((await send(strict.address, preflight('https://evil.example'))).status).toBe(403);
  });

  it('of a page: it may read the response headers that it needs to sign in and to retry', async () => {
    const { status, headers } = await ask(listed(undefined, { origin: 'http://localhost:6274' }));
    expect([status, headers['access-control-allow-origin']]).toEqual([401, 'http://localhost:6274']);
    for (const name of ['WWW-Authenticate', 'Retry-After', 'X-Request-Id'])
      expect(headers['access-control-expose-headers']).toContain(name);
  });
});

describe.each(['/.well-known/oauth-protected-resource/mcp', '/.well-known/oauth-protected-resource'])('%s', (path) => {
  const FROM_ANYWHERE = { host: 'evil.example', 'x-forwarded-host': 'evil.example', origin: 'https://evil.example' };

  it('returns the token issuer to pages of any origin, whatever the Host', async () => {
    const { status, headers, json } = await send(strict.address, { method: 'GET', path, headers: FROM_ANYWHERE });
    expect([status, headers['access-control-allow-origin']]).toEqual([200, '*']);
    expect(headers['content-type']).toMatch(/^application\/json/);
    expect(json).toEqual({
      resource: 'http://tools.example/mcp',
      authorization_servers: ['http://tools.example'],
      scopes_supported: ALL.split(' '),
      bearer_methods_supported: ['header'],
      resource_name: 'Call Research',
    });
  });

  it('allows the preflight for the MCP-Protocol-Version header', async () => {
    const headers = {
      ...FROM_ANYWHERE,
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'mcp-protocol-version',
    };
    const answer = await ask({ method: 'OPTIONS', path, headers });
    expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([204, '*']);
    expect(answer.headers['access-control-allow-headers']).toBe('MCP-Protocol-Version');
  });

  it('refuses methods other than GET and HEAD', async () => {
    const { status, headers } = await ask({ method: 'POST', path });
    expect([status, headers.allow]).toEqual([405, 'GET, HEAD']);
    expect((await ask({ method: 'HEAD', path })).status).toBe(200);
  });
});
