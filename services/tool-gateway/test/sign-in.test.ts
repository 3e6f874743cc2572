import { parseNetworks } from '@crs/kit/http/address';
import { sendRaw } from '@crs/testing/send-raw';
import { afterEach, describe, expect, it } from 'vitest';
import { ask, auth, FORM, get, HOST, log, post, start, useAuth } from './_sign-in.ts';

useAuth();

const METADATA = [
  '/.well-known/oauth-authorization-server',
  '/.well-known/openid-configuration',
  '/.well-known/oauth-authorization-server/mcp',
  '/.well-known/openid-configuration/mcp',
];
const FOR_PROGRAMS: [string, string][] = [
  ...[...METADATA, '/jwks'].map((path): [string, string] => ['GET', path]),
  ['POST', '/token'],
  ['POST', '/register'],
  ['POST', '/revoke'],
];
const PAGES: [string, string][] = [
  ['GET', '/'],
  ['GET', '/authorize'],
  ['POST', '/authorize'],
  ['GET', '/authorize/V1StGXR8_Z5jdHi6B-myT'],
  ['GET', '/sign-in/V1StGXR8_Z5jdHi6B-myT'],
  ['POST', '/sign-in/V1StGXR8_Z5jdHi6B-myT'],
  ['GET', '/sign-in/style.css'],
  ['GET', '/sign-in/callback/acme'],
  ['GET', `/sign-in/callback/${'a-2'.repeat(13)}x`],
  ['GET', '/connections'],
  ['POST', '/connections/one'],
];

describe('requests passed on to auth', () => {
  it.each([...FOR_PROGRAMS, ...PAGES])('include %s %s, with its query', async (method, path) => {
    const query = '?scope=a%20b&x=%2F..%2F&y=?';
    const { status, json } = await ask({ method, path: path + query, ...(method === 'POST' && { body: 'a=b', headers: FORM }) });
    expect([status, json]).toEqual([200, { from: 'auth' }]);
    expect(auth.passed).toMatchObject([{ method, url: path.replace('/mcp', '') + query, body: method === 'POST' ? 'a=b' : '' }]);
  });

  it.each(['/jwks', METADATA[0]!, '/connections'])('include HEAD %s', async (path) => {
    expect(await ask({ method: 'HEAD', path })).toMatchObject({ status: 200, text: '' });
    expect(auth.passed[0]!.method).toBe('HEAD');
  });

  it.each([
    '/token/',
    '/Token',
    '/token/introspection',
    '/token%20',
    '/%74oken',
    '//token',
    '/./token',
    '/x/../token',
    '/token;x',
    '/token/mcp',
    '/jwks/mcp',
    '/register/one',
    '/authorize/',
    '/authorize/a/b',
    '/authorize/..',
    '/authorize/.',
    '/authorize/%2e%2e',
    '/authorize/a%2fb',
    '/authorize/:id',
    '/sign-in',
    '/sign-in/',
    '/sign-in/a/b',
    '/sign-in/callback/',
    '/sign-in/callback/Acme',
    '/sign-in/callback/-acme',
    '/sign-in/callback/..',
    '/sign-in/callback/a%2fb',
    '/sign-in/callback/acme/',
    '/sign-in/callback/acme/b',
    `/sign-in/callback/${'a'.repeat(41)}`,
    '/connections/',
    '/connections/a/b',
    '/userinfo',
    '/me',
    '/introspect',
    '/device',
    '/session/end',
    '/metrics',
    '/livez',
    '/.well-known/openid-configuration/other',
    '/.well-known/openid-configuration/mcp/mcp',
    '/.well-known/jwks.json',
    '/toString',
    '/__proto__',
  ])('do not include %s', async (path) => {
    for (const method of ['GET', 'POST']) expect((await ask({ method, path })).status).toBe(404);
    expect(auth.passed).toEqual([]);
  });

  it.each([
    ['GET', '/token', 'POST'],
    ['PUT', '/register', 'POST'],
    ['POST', '/jwks', 'GET, HEAD'],
    ['DELETE', '/authorize', 'GET, HEAD, POST'],
    ['OPTIONS', '/connections', 'GET, HEAD, POST'],
  ])('do not include %s %s', async (method, path, allow) => {
    const { status, headers } = await ask({ method, path });
    expect([status, headers.allow, auth.passed]).toEqual([405, allow, []]);
  });

  it('get 404 if `authHttpAddress` is not set', async () => {
    const without = await start({ authHttpAddress: undefined });
    try {
      for (const [method, path] of [...FOR_PROGRAMS, ...PAGES])
        expect((await ask({ method, path }, without.address)).status).toBe(404);
      expect(auth.passed).toEqual([]);
    } finally {
      await without.stop();
    }
  });

  it('share a keep-alive connection', async () => {
    for (const path of ['/jwks', '/connections', '/jwks']) await get(path);
    expect(new Set(auth.passed.map(({ port }) => port)).size).toBe(1);
  });
});

describe('headers of requests to auth', () => {
  const claims = {
    'x-forwarded-for': '198.51.100.1',
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'ftp',
    'x-forwarded-port': '1',
    forwarded: 'for=198.51.100.1;host=evil.example',
    'x-real-ip': '198.51.100.1',
    'x-request-id': 'theirs',
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    baggage: 'a=b',
    'x-organization': 'acme',
    'proxy-authorization': 'Basic YTpi',
    te: 'trailers',
    upgrade: 'h2c',
    'keep-alive': 'timeout=100',
    connection: 'keep-alive, Accept, X-Secret',
    'x-secret': 'a',
    accept: 'text/x-named-by-connection',
  };
  const own = { host: HOST, 'x-forwarded-host': HOST, 'x-forwarded-proto': 'http', 'x-forwarded-for': '127.0.0.1' };

  it("for a page are the browser's, with proxy headers replaced by our own", async () => {
    const kept = {
      'accept-language': 'de',
      cookie: 'a=b; c=d',
      'content-type': FORM['content-type'],
      origin: 'http://tools.example',
      referer: 'http://tools.example/sign-in/a',
      'sec-fetch-site': 'same-origin',
      'user-agent': 'Browser',
    };
    const { headers } = await ask({ method: 'POST', path: '/sign-in/a', body: 'a=b', headers: { ...claims, ...kept } });
    const id = headers['x-request-id'];
    const connection = { connection: 'close', 'content-length': '3' };
    expect(auth.passed[0]!.headers).toEqual({ ...kept, ...own, ...connection, 'x-request-id': id });
  });

  it('for a program include no Cookie, Origin or Referer', async () => {
    const kept = { authorization: 'Basic YTpi', ...FORM, 'user-agent': 'Program' };
    const sentHeaders = { ...claims, ...kept, cookie: 'a=b', origin: 'https://app.example', referer: 'https://app.example/' };
    const { headers } = await ask({ method: 'POST', path: '/token', body: 'a=b', headers: sentHeaders });
    const id = headers['x-request-id'];
    const connection = { connection: 'close', 'content-length': '3' };
    expect(auth.passed[0]!.headers).toEqual({ ...kept, ...own, ...connection, 'x-request-id': id });
  });

  it("contain the client's address as the trusted proxy reported it", async () => {
    const behind = await start({ publicUrl: 'https://tools.example:8443', trustedProxies: parseNetworks('127.0.0.1')! });
    try {
      const clients = {
        '203.0.113.9': '203.0.113.9',
        '1.1.1.1, 203.0.113.9': '203.0.113.9',
        '2001:db8:1:2::3': '2001:db8:1:2::',
      };
      for (const [forwarded, client] of Object.entries(clients)) {
        await ask({ path: '/jwks', headers: { host: 'tools.example:8443', 'x-forwarded-for': forwarded } }, behind.address);
        const here = { host: 'tools.example:8443', 'x-forwarded-host': 'tools.example:8443', 'x-forwarded-proto': 'https' };
        expect(auth.passed.pop()!.headers).toMatchObject({ ...here, 'x-forwarded-for': client });
      }
    } finally {
      await behind.stop();
    }
  });
});

describe('a page of another origin', () => {
  const origin = 'https://app.example';

  it.each(FOR_PROGRAMS)('may call %s %s, without credentials', async (method, path) => {
    const preflight = { origin, 'access-control-request-method': method, 'access-control-request-headers': 'content-type' };
    const allowed = await ask({ method: 'OPTIONS', path, headers: preflight });
    expect([allowed.status, allowed.headers['access-control-allow-origin'], auth.passed]).toEqual([204, '*', []]);
    expect(allowed.headers['access-control-allow-methods']!.split(', ')).toContain(method);
    expect(allowed.headers['access-control-allow-headers']!.toLowerCase()).toContain('content-type');

    const { headers } = await ask({ method, path, headers: { origin }, ...(method === 'POST' && { body: '' }) });
    expect([headers['access-control-allow-origin'], headers['access-control-allow-credentials']]).toEqual(['*', undefined]);
  });

  it.each(PAGES)('may not read the response of %s %s', async (method, path) => {
    const { headers } = await ask({ method, path, headers: { origin } });
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  it("can't reach auth under the page's own host name (DNS rebinding)", async () => {
    for (const [method, path] of [...FOR_PROGRAMS, ...PAGES]) {
      const { status } = await ask({ method, path, headers: { host: 'rebound.example' } });
      expect([path, status]).toEqual([path, METADATA.includes(path) ? 200 : 403]);
    }
    expect(auth.passed.map(({ headers }) => headers.host)).toEqual(METADATA.map(() => HOST));
    const twice = await sendRaw(
      auth.gateway.address,
      `GET /jwks HTTP/1.1\r\nHost: ${HOST}\r\nHost: evil\r\nConnection: close\r\n\r\n`,
    );
    expect(twice).toMatch(/^HTTP\/1\.1 40[03] /);
    const absolute = await sendRaw(
      auth.gateway.address,
      `GET http://${HOST}/jwks HTTP/1.1\r\nHost: evil\r\nConnection: close\r\n\r\n`,
    );
    expect(absolute).toMatch(/^HTTP\/1\.1 403 /);
  });
});

describe('a client address', () => {
  let own: typeof auth.gateway;
  afterEach(() => own?.stop());

  it('has a limit for sign-in, and a separate one for unknown paths', async () => {
    own = await start({ signInLimit: { requests: 3, periodSeconds: 60 }, addressLimit: { requests: 3, periodSeconds: 60 } });
    const statuses = [];
    for (const path of ['/jwks', '/connections', '/authorize', '/authorize', '/jwks', ...Array<string>(4).fill('/nothing')])
      statuses.push((await ask({ path }, own.address)).status);
    expect(statuses).toEqual([200, 200, 200, 429, 429, 404, 404, 404, 429]);
    const person = await ask({ path: '/authorize' }, own.address);
    expect(person.text).toContain(`Try again in ${person.headers['retry-after']} s.`);
    const program = await ask({ method: 'POST', path: '/token' }, own.address);
    expect([program.json.error.code, program.headers['access-control-allow-origin']]).toEqual(['rate_limited', '*']);
    expect(auth.passed).toHaveLength(3);
    const preflight = { origin: 'https://app.example', 'access-control-request-method': 'POST' };
    expect((await ask({ method: 'OPTIONS', path: '/token', headers: preflight }, own.address)).status).toBe(204);
  });
});

it('no query, cookie, body or credential is logged', async () => {
  await get('/authorize?code_challenge=SECRET1&login_hint=SECRET2');
  await get('/authorize/SECRET3?x=SECRET4', { cookie: 'SECRET5', referer: 'SECRET6' });
  await post('/token', 'code=SECRET7', { authorization: 'SECRET8' });
  await get('/nothing?SECRET9');
  const own = await start({ authHttpAddress: '127.0.0.1:1' });
  await ask({ path: '/authorize?SECRET10' }, own.address);
  await own.stop();
  expect(log.join('')).toContain('"/authorize/:id"');
  expect(log.join('')).not.toContain('SECRET');
});
