import { beforeAll, describe, expect, it } from 'vitest';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { comparable, getExactly, sendBytes } from './_answers.ts';

const RANGE = 'start_date=2025-01-01T00:00:00Z&end_date=2026-01-01T00:00:00Z';
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const HTML = { accept: 'text/html' };

const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];

let world: World;
let key: string;

beforeAll(async () => {
  world = await sharedWorld();
  await world.load(
    [ACME, GLOBEX].flatMap((organization) => [
      { type: 'organization', id: organization, name: organization, rate_limit: { requests: 100_000, period_seconds: 60 } },
      { type: 'call', organization, id: 'call_1', created_at: '2025-03-01T00:00:00Z', summary: `Words of ${organization}: äöü` },
    ]),
  );
  key = await world.createKey(ACME);
});

describe('a request without a key', () => {
  const paths = [
    '',
    '/',
    '/calls',
    '/calls/',
    `/calls?${RANGE}`,
    '/calls?page=0',
    '/calls/call_1',
    '/calls/a/b',
    '/Calls',
    '/nothing',
    '/%FF',
  ];

  it.each(METHODS)('with the method %s gets 401 on every path under /v1, whatever else is wrong', async (method) => {
    for (const path of paths) {
      const { status, headers, json } = await world.rest(`/v1${path}`, { method, headers: HTML });
      expect(status, path).toBe(401);
      expect(headers.get('www-authenticate')).toBe('Bearer');
      if (method !== 'HEAD') expect(json.error.code).toBe('unauthorized');
    }
  });

  it('with the method TRACE gets 401', async () => {
    const [answer] = await sendBytes(
      world.stack.addresses.api,
      'TRACE /v1/calls HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n',
    );
    expect(answer!.status).toBe(401);
  });
});

describe('a path outside /v1', () => {
  it.each(['/x', '/calls', '/v2/calls', '/V1/calls', '/v1x', '/%76%31/calls', '//v1/calls', '/metrics', '/readyz', '/%FF', '/%'])(
    'such as %s gets 404, with a key and without',
    async (path) => {
      for (const good of [undefined, key]) {
        const { status, headers, json } = await getExactly(world.stack.addresses.api, path, good);
        expect(status).toBe(404);
        expect(json.error.code).toBe('not_found');
        expect(headers.get('www-authenticate')).toBeNull();
      }
    },
  );
});

describe('a request with a valid key', () => {
  it.each([
    '',
    '/',
    '/nothing',
    '/calls/',
    '/calls/call_1/',
    '/Calls',
    '/CALLS/call_1',
    '/calls/a/b',
    '//calls',
    `/calls/?${RANGE}`,
  ])('for /v1%s, which is not a route, gets 404 before any other error', async (path) => {
    for (const method of METHODS) {
      const { status, json } = await world.rest(`/v1${path}`, { key, method, headers: HTML });
      expect(status, method).toBe(404);
      if (method !== 'HEAD') expect(json.error.message).toContain('nothing at this path');
    }
  });

  it.each(['/calls', '/calls?page=0', '/changes', '/changes?limit=0'])(
    'for /v1%s with a method other than GET and HEAD gets 405, before 406, 400 and 404 for the id',
    async (path) => {
      for (const method of METHODS.filter((each) => each !== 'GET' && each !== 'HEAD')) {
        const { status, headers, json } = await world.rest(`/v1${path}`, { key, method, headers: HTML });
        expect(status, method).toBe(405);
        expect(headers.get('allow')).toBe('GET, HEAD');
        expect(json.error.code).toBe('bad_request');
      }
    },
  );

  it.each(['/calls', '/calls?page=0', '/calls/call_1', '/calls/unknown?include_clean=maybe'])(
    'for /v1%s in another media type gets 406, before 400 and 404 for the id',
    async (path) => {
      const { status, json } = await world.rest(`/v1${path}`, { key, headers: HTML });
      expect(status).toBe(406);
      expect(json.error.code).toBe('bad_request');
    },
  );

  it('with an invalid query gets 400, before 404 for the id', async () => {
    const { status, json } = await world.rest('/v1/calls/unknown?include_clean=maybe', { key });
    expect(status).toBe(400);
    expect(json.error.message).toMatch(/^include_clean: /);
  });

  it.each([
    'application/json',
    'APPLICATION/JSON',
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8;q=0.5',
    'application/*',
    '*/*',
    'text/html, application/xml;q=0.9, */*;q=0.1',
    '',
  ])('with Accept: %s is served', async (accept) => {
    const [answer] = await sendBytes(
      world.stack.addresses.api,
      `GET /v1/calls/call_1 HTTP/1.1\r\nHost: test\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\nAccept: ${accept}\r\n\r\n`,
    );
    expect(answer!.status).toBe(200);
    expect(answer!.headers.get('content-type')).toBe('application/json; charset=utf-8');
  });

  it('without Accept is served', async () => {
    expect((await getExactly(world.stack.addresses.api, '/v1/calls/call_1', key)).status).toBe(200);
  });

  it.each([
    'text/html',
    'application/json;q=0',
    'application/json;q=0, */*',
    'application/*;q=0, */*',
    '*/*;q=0',
    'application/problem+json',
    'json',
  ])('with Accept: %s gets 406', async (accept) => {
    expect((await world.rest('/v1/calls/call_1', { key, headers: { accept } })).status).toBe(406);
  });
});

describe('HEAD', () => {
  it.each([
    [200, `/v1/calls?${RANGE}`],
    [200, '/v1/calls/call_1'],
    [404, '/v1/calls/unknown'],
    [404, '/v1/nothing'],
    [400, '/v1/calls'],
    [401, '/v1/calls'],
  ])('returns %i on %s with the headers of GET and no body', async (status, path) => {
    const send = async (method: string) => {
      const authorization = status === 401 ? '' : `Authorization: Bearer ${key}\r\n`;
      const head = `${method} ${path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n${authorization}\r\n`;
      const answers = await sendBytes(world.stack.addresses.api, head, method);
      expect(answers).toHaveLength(1);
      return answers[0]!;
    };
    const get = await send('GET');
    const head = await send('HEAD');
    expect(get.status).toBe(status);
    expect(Number(get.headers.get('content-length'))).toBe(Buffer.byteLength(get.text));
    expect(get.headers.has('etag')).toBe(status === 200);
    expect(comparable(head)).toEqual({ ...comparable(get), text: '' });
  });
});
