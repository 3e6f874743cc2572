import { once } from 'node:events';
import { request as open, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, vi } from 'vitest';
import type { ToolGatewayConfig } from '../src/config.ts';
import { ask, auth, FORM, get, HOST, log, post, start, useAuth } from './_sign-in.ts';

useAuth();

describe('a response of auth', () => {
  it('is passed on without hop-by-hop, internal and CORS headers', async () => {
    auth.answer = (_, response) => {
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

  it.each([400, 401, 404, 500, 503])('with status %d is passed on', async (status) => {
    auth.answer = (_, response) => response.writeHead(status, { 'Content-Type': 'application/json' }).end('{"error":"x"}');
    expect(await post('/token')).toMatchObject({ status, json: { error: 'x' } });
  });

  it('is streamed', async () => {
    const read = Promise.withResolvers<void>();
    auth.answer = (_, response) => {
      response.write('first ');
      void read.promise.then(() => response.end('second'));
    };
    const [host, port] = auth.gateway.address.split(':');
    const sent = open({ host, port, path: '/connections', headers: { host: HOST }, agent: false }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    expect(String((await once(response, 'data'))[0])).toBe('first ');
    read.resolve();
    expect(await text(response)).toBe('second');
  });

  it('that auth aborts is aborted for the client too', async () => {
    auth.answer = (_, response) =>
      void response.writeHead(200, { 'Content-Length': 100 }).write('half', () => response.destroy());
    await expect(get('/connections')).rejects.toThrow('aborted');
  });

  it('is cancelled when the client disconnects', async () => {
    const closed = Promise.withResolvers<void>();
    const received = Promise.withResolvers<void>();
    auth.answer = (_, response) => {
      received.resolve();
      response.once('close', closed.resolve);
    };
    const [host, port] = auth.gateway.address.split(':');
    const sent = open({ host, port, path: '/connections', headers: { host: HOST }, agent: false });
    sent.on('error', () => {}).end();
    await received.promise;
    log.length = 0;
    sent.destroy();
    await closed.promise;
    await vi.waitFor(() => expect(log.join('')).toContain('"/connections"'), { timeout: 10_000 });
    expect(log.join('')).not.toContain('not served');
  });
});

describe('a request body', () => {
  it('of 64 KiB is passed on, and one byte more is refused', async () => {
    expect((await post('/register', 'x'.repeat(65_536))).status).toBe(200);
    expect(auth.passed.pop()!.body).toHaveLength(65_536);
    const framings: Record<string, string>[] = [{ 'content-length': '65537' }, { 'transfer-encoding': 'chunked' }];
    for (const headers of framings)
      expect(await post('/register', 'x'.repeat(65_537), headers)).toMatchObject({
        status: 413,
        json: { error: { code: 'bad_request' } },
      });
    expect(auth.passed).toEqual([]);
  });

  it('is passed on with Content-Length, even if it was sent in chunks', async () => {
    await post('/token', 'a=b', { 'transfer-encoding': 'chunked' });
    expect(auth.passed[0]).toMatchObject({ body: 'a=b', headers: { 'content-length': '3' } });
    expect(auth.passed[0]!.headers['transfer-encoding']).toBeUndefined();
  });

  it('that is compressed is refused', async () => {
    const body = gzipSync('a=b').toString('latin1');
    expect((await post('/token', body, { 'content-encoding': 'gzip' })).status).toBe(415);
    expect(auth.passed).toEqual([]);
  });

  it('that is missing is passed on as empty', async () => {
    await ask({ method: 'POST', path: '/revoke' });
    expect(auth.passed[0]).toMatchObject({ body: '', headers: { 'content-length': '0' } });
  });
});

describe('while auth', () => {
  const settings: [string, Partial<ToolGatewayConfig>, number][] = [
    ['is down', { authHttpAddress: '127.0.0.1:1' }, 503],
    ['does not respond', { timeoutMs: 300 }, 504],
  ];
  it.each(settings)('%s, programs get JSON and people get text, both with Retry-After', async (_, some, status) => {
    auth.answer = () => {};
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

  it('responds with something other than HTTP, requests get 503', async () => {
    auth.answer = (request) =>
      void request.socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
    expect((await get('/jwks')).status).toBe(503);
    auth.answer = (request) => void request.socket.end('nonsense');
    expect((await get('/jwks')).status).toBe(503);
  });
});
