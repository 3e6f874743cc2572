import { once } from 'node:events';
import { createServer, request as open, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { parseNetworks } from '@crs/kit/http/address';
import { sendRaw } from '@crs/testing/send-raw';
import type { World } from '@crs/testing/world';
import type { ToolGatewayConfig } from '../src/config.ts';
import { ask as askAt, startGateway, type Ask } from './_requests.ts';

const HOST = 'tools.example';
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

/** An HTTP server in auth's place. */
const upstream = createServer((request, response) => {
  void text(request).then((body) => {
    const { method, url, headers } = request;
    passed.push({ method, url, headers, body, port: request.socket.remotePort });
    answer(request, response);
  });
});
let passed: { method?: string; url?: string; headers: IncomingHttpHeaders; body: string; port: number | undefined }[];
let answer: (request: IncomingMessage, response: ServerResponse) => void;
let authHttpAddress: string;

let gateway: { address: string; stop: () => Promise<void> };
const log: string[] = [];

/** No service runs: sign-in needs only auth's HTTP server, and without the rate-limit service gateways count by themselves. */
async function start(settings: Partial<ToolGatewayConfig> = {}) {
  const nowhere = new Proxy({}, { get: () => '127.0.0.1:1' }) as World['stack']['addresses'];
  return startGateway({ stack: { addresses: nowhere }, log }, { authHttpAddress, loopback: false, ...settings });
}

beforeAll(async () => {
  await once(upstream.listen(0, '127.0.0.1'), 'listening');
  authHttpAddress = `127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  gateway = await start();
});
afterAll(async () => {
  await gateway?.stop();
  upstream.closeAllConnections();
  upstream.close();
});
beforeEach(() => {
  passed = [];
  answer = (_, response) => response.setHeader('Content-Type', 'application/json').end('{"from":"auth"}');
});

const ask = (request: Ask, at = gateway.address) =>
  askAt(at, { method: 'GET', ...request, headers: { host: HOST, ...request.headers } });
const get = (path: string, headers: Record<string, string> = {}) => ask({ path, headers });
const post = (path: string, body = 'a=b', headers: Record<string, string> = {}) =>
  ask({ method: 'POST', path, body, headers: { ...FORM, ...headers } });

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
  ['GET', '/connections'],
  ['POST', '/connections/one'],
];

describe('requests passed on to auth', () => {
  it.each([...FOR_PROGRAMS, ...PAGES])('include %s %s, with its query', async (method, path) => {
    const query = '?scope=a%20b&x=%2F..%2F&y=?';
    const { status, json } = await ask({ method, path: path + query, ...(method === 'POST' && { body: 'a=b', headers: FORM }) });
    expect([status, json]).toEqual([200, { from: 'auth' }]);
    expect(passed).toMatchObject([{ method, url: path.replace('/mcp', '') + query, body: method === 'POST' ? 'a=b' : '' }]);
  });

  it.each(['/jwks', METADATA[0]!, '/connections'])('include HEAD %s', async (path) => {
    expect(await ask({ method: 'HEAD', path })).toMatchObject({ status: 200, text: '' });
    expect(passed[0]!.method).toBe('HEAD');
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
    expect(passed).toEqual([]);
  });

  it.each([
    ['GET', '/token', 'POST'],
    ['PUT', '/register', 'POST'],
    ['POST', '/jwks', 'GET, HEAD'],
    ['DELETE', '/authorize', 'GET, HEAD, POST'],
    ['OPTIONS', '/connections', 'GET, HEAD, POST'],
  ])('do not include %s %s', async (method, path, allow) => {
    const { status, headers } = await ask({ method, path });
    expect([status, headers.allow, passed]).toEqual([405, allow, []]);
  });

  it('do not exist without `authHttpAddress`', async () => {
    const without = await start({ authHttpAddress: undefined });
    try {
      for (const [method, path] of [...FOR_PROGRAMS, ...PAGES])
        expect((await ask({ method, path }, without.address)).status).toBe(404);
      expect(passed).toEqual([]);
    } finally {
      await without.stop();
    }
  });

  it('share a connection that is kept', async () => {
    for (const path of ['/jwks', '/connections', '/jwks']) await get(path);
    expect(new Set(passed.map(({ port }) => port)).size).toBe(1);
  });
});

describe('headers inward', () => {
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

  it("of a page are the browser's and our own", async () => {
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
    expect(passed[0]!.headers).toEqual({ ...kept, ...own, ...connection, 'x-request-id': id });
  });

  it('of a program include no cookie and no origin', async () => {
    const kept = { authorization: 'Basic YTpi', ...FORM, 'user-agent': 'Program' };
    const asked = { ...claims, ...kept, cookie: 'a=b', origin: 'https://app.example', referer: 'https://app.example/' };
    const { headers } = await ask({ method: 'POST', path: '/token', body: 'a=b', headers: asked });
    const id = headers['x-request-id'];
    const connection = { connection: 'close', 'content-length': '3' };
    expect(passed[0]!.headers).toEqual({ ...kept, ...own, ...connection, 'x-request-id': id });
  });

  it('name the address of the client as a trusted proxy gave it', async () => {
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
        expect(passed.pop()!.headers).toMatchObject({ ...here, 'x-forwarded-for': client });
      }
    } finally {
      await behind.stop();
    }
  });
});

describe('an answer', () => {
  it('is passed on from auth, without headers of the connection', async () => {
    answer = (_, response) => {
      response.writeHead(303, 'Elsewhere', {
        Location: 'https://client.example/cb?code=1&iss=http%3A%2F%2Ftools.example',
        'Set-Cookie': ['a=b; Path=/; HttpOnly', 'c=d'],
        'Cache-Control': 'no-store',
        'Content-Type': 'text/html',
        'Content-Security-Policy': "default-src 'none'",
        'X-Request-Id': 'theirs',
        'X-Powered-By': 'them',
        Connection: 'keep-alive, X-Inner',
        'X-Inner': 'a',
        'Proxy-Authenticate': 'Basic',
        'Access-Control-Allow-Origin': 'https://evil.example',
        'Access-Control-Allow-Credentials': 'true',
      });
      response.end('<p>');
    };
    const { status, headers, text: body } = await get('/authorize', { origin: 'https://evil.example' });
    expect([status, body]).toEqual([303, '<p>']);
    expect(headers).toMatchObject({
      location: 'https://client.example/cb?code=1&iss=http%3A%2F%2Ftools.example',
      'set-cookie': ['a=b; Path=/; HttpOnly', 'c=d'],
      'cache-control': 'no-store',
      'content-type': 'text/html',
      'content-security-policy': "default-src 'none'",
    });
    const inner = /^(x-inner|x-powered-by|proxy-.*|access-control-.*)$/;
    expect(Object.keys(headers).filter((name) => inner.test(name))).toEqual([]);
  });

  it.each([400, 401, 404, 500, 503])('of status %d is passed on from auth', async (status) => {
    answer = (_, response) => response.writeHead(status, { 'Content-Type': 'application/json' }).end('{"error":"x"}');
    expect(await post('/token')).toMatchObject({ status, json: { error: 'x' } });
  });

  it('streams', async () => {
    const read = Promise.withResolvers<void>();
    answer = (_, response) => {
      response.write('first ');
      void read.promise.then(() => response.end('second'));
    };
    const [host, port] = gateway.address.split(':');
    const sent = open({ host, port, path: '/connections', headers: { host: HOST }, agent: false }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    expect(String((await once(response, 'data'))[0])).toBe('first ');
    read.resolve();
    expect(await text(response)).toBe('second');
  });

  it('that auth breaks off is broken off for the client', async () => {
    answer = (_, response) => void response.writeHead(200, { 'Content-Length': 100 }).write('half', () => response.destroy());
    await expect(get('/connections')).rejects.toThrow('aborted');
  });

  it('is given up when the client hangs up', async () => {
    const gone = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    answer = (_, response) => {
      asked.resolve();
      response.once('close', gone.resolve);
    };
    const [host, port] = gateway.address.split(':');
    const sent = open({ host, port, path: '/connections', headers: { host: HOST }, agent: false });
    sent.on('error', () => {}).end();
    await asked.promise;
    log.length = 0;
    sent.destroy();
    await gone.promise;
    await vi.waitFor(() => expect(log.join('')).toContain('"/connections"'), { timeout: 10_000 });
    expect(log.join('')).not.toContain('not served');
  });
});

describe('a body', () => {
  it('of 64 KiB is passed on, and refused with a byte more', async () => {
    expect((await post('/register', 'x'.repeat(65_536))).status).toBe(200);
    expect(passed.pop()!.body).toHaveLength(65_536);
    const framings: Record<string, string>[] = [{ 'content-length': '65537' }, { 'transfer-encoding': 'chunked' }];
    for (const headers of framings)
      expect(await post('/register', 'x'.repeat(65_537), headers)).toMatchObject({
        status: 413,
        json: { error: { code: 'bad_request' } },
      });
    expect(passed).toEqual([]);
  });

  it('is passed on with Content-Length, also if it came in chunks', async () => {
    await post('/token', 'a=b', { 'transfer-encoding': 'chunked' });
    expect(passed[0]).toMatchObject({ body: 'a=b', headers: { 'content-length': '3' } });
    expect(passed[0]!.headers['transfer-encoding']).toBeUndefined();
  });

  it('that is compressed is refused', async () => {
    const body = gzipSync('a=b').toString('latin1');
    expect((await post('/token', body, { 'content-encoding': 'gzip' })).status).toBe(415);
    expect(passed).toEqual([]);
  });

  it('that is missing is passed on as empty', async () => {
    await ask({ method: 'POST', path: '/revoke' });
    expect(passed[0]).toMatchObject({ body: '', headers: { 'content-length': '0' } });
  });
});

describe('half-sent bodies', () => {
  const from = (client: string, path = '/token') =>
    [`POST ${path} HTTP/1.1`, `Host: ${HOST}`, `X-Forwarded-For: ${client}`, 'Content-Length: 9', '', 'a=b'].join('\r\n');
  let behind: Awaited<ReturnType<typeof start>>;
  beforeEach(async () => void (behind = await start({ trustedProxies: parseNetworks('127.0.0.1')!, timeoutMs: 2_000 })));
  afterEach(() => behind.stop());

  it('keep nobody from signing in, and are given up after 5 s', async () => {
    const started = performance.now();
    const attackers = Array.from({ length: 160 }, (_, n) => sendRaw(behind.address, from(`192.0.2.${n % 4}`)));
    const person = sendRaw(behind.address, from('192.0.2.9', '/sign-in/a'));
    await sleep(500);
    const fresh = { method: 'POST', path: '/token', body: 'a=b', headers: { ...FORM, 'x-forwarded-for': '203.0.113.1' } };
    expect(await ask(fresh, behind.address)).toMatchObject({ status: 200, json: { from: 'auth' } });
    for (const answered of await Promise.all(attackers)) {
      expect(answered).toMatch(/^HTTP\/1\.1 408 /);
      expect(answered).toContain('"code":"bad_request","message":"The body did not arrive within 5 s."');
    }
    expect(await person).toMatch(/^HTTP\/1\.1 408 [^]*text\/plain[^]*The body did not arrive within 5 s\./);
    expect(performance.now() - started).toBeLessThan(20_000);
  });
});

describe('while auth', () => {
  const settings: [string, Partial<ToolGatewayConfig>, number][] = [
    ['is away', { authHttpAddress: '127.0.0.1:1' }, 503],
    ['does not answer', { timeoutMs: 300 }, 504],
  ];
  it.each(settings)('%s, programs and people hear when to try again', async (_, some, status) => {
    answer = () => {};
    const alone = await start(some);
    try {
      const program = await ask({ method: 'POST', path: '/token', body: 'a=b', headers: FORM }, alone.address);
      expect([program.status, program.headers['retry-after'], program.json.error.code]).toEqual([status, '1', 'internal_error']);
      expect(program.headers['access-control-allow-origin']).toBe('*');
      const person = await ask({ path: '/sign-in/a' }, alone.address);
      expect([person.status, person.headers['retry-after']]).toEqual([status, '1']);
      expect(person.headers['content-type']).toBe('text/plain; charset=utf-8');
      expect(person.text).toMatch(/^The .*Try again shortly\.\n\nRequest id: [0-9a-f]{32}\n$/);
      expect(person.text).toContain(person.headers['x-request-id']);
    } finally {
      await alone.stop();
    }
  });

  it('answers something other than HTTP, it counts as away', async () => {
    answer = (request) =>
      void request.socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
    expect((await get('/jwks')).status).toBe(503);
    answer = (request) => void request.socket.end('nonsense');
    expect((await get('/jwks')).status).toBe(503);
  });
});

describe('a page of another origin', () => {
  const origin = 'https://app.example';

  it.each(FOR_PROGRAMS)('may ask %s %s, without credentials', async (method, path) => {
    const preflight = { origin, 'access-control-request-method': method, 'access-control-request-headers': 'content-type' };
    const allowed = await ask({ method: 'OPTIONS', path, headers: preflight });
    expect([allowed.status, allowed.headers['access-control-allow-origin'], passed]).toEqual([204, '*', []]);
    expect(allowed.headers['access-control-allow-methods']!.split(', ')).toContain(method);
    expect(allowed.headers['access-control-allow-headers']!.toLowerCase()).toContain('content-type');

    const { headers } = await ask({ method, path, headers: { origin }, ...(method === 'POST' && { body: '' }) });
    expect([headers['access-control-allow-origin'], headers['access-control-allow-credentials']]).toEqual(['*', undefined]);
  });

  it.each(PAGES)('may not read %s %s', async (method, path) => {
    const { headers } = await ask({ method, path, headers: { origin } });
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  it("can't reach us under a host name of the page", async () => {
    for (const [method, path] of [...FOR_PROGRAMS, ...PAGES]) {
      const { status } = await ask({ method, path, headers: { host: 'rebound.example' } });
      expect([path, status]).toEqual([path, METADATA.includes(path) ? 200 : 403]);
    }
    expect(passed.map(({ headers }) => headers.host)).toEqual(METADATA.map(() => HOST));
    const twice = await sendRaw(
      gateway.address,
      `GET /jwks HTTP/1.1\r\nHost: ${HOST}\r\nHost: evil\r\nConnection: close\r\n\r\n`,
    );
    expect(twice).toMatch(/^HTTP\/1\.1 40[03] /);
    const absolute = await sendRaw(
      gateway.address,
      `GET http://${HOST}/jwks HTTP/1.1\r\nHost: evil\r\nConnection: close\r\n\r\n`,
    );
    expect(absolute).toMatch(/^HTTP\/1\.1 403 /);
  });
});

describe('an address', () => {
  let own: typeof gateway;
  afterEach(() => own?.stop());

  it('has one limit for sign-in, and another for unknown paths', async () => {
    own = await start({ signInLimit: { requests: 3, periodSeconds: 60 }, addressLimit: { requests: 3, periodSeconds: 60 } });
    const statuses = [];
    for (const path of ['/jwks', '/connections', '/authorize', '/authorize', '/jwks', ...Array<string>(4).fill('/nothing')])
      statuses.push((await ask({ path }, own.address)).status);
    expect(statuses).toEqual([200, 200, 200, 429, 429, 404, 404, 404, 429]);
    const person = await ask({ path: '/authorize' }, own.address);
    expect(person.text).toContain(`Try again in ${person.headers['retry-after']} s.`);
    const program = await ask({ method: 'POST', path: '/token' }, own.address);
    expect([program.json.error.code, program.headers['access-control-allow-origin']]).toEqual(['rate_limited', '*']);
    expect(passed).toHaveLength(3);
    const preflight = { origin: 'https://app.example', 'access-control-request-method': 'POST' };
    expect((await ask({ method: 'OPTIONS', path: '/token', headers: preflight }, own.address)).status).toBe(204);
  });
});

it('no query, cookie or body gets into the log', async () => {
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
