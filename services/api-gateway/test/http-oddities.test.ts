import { once } from 'node:events';
import { createConnection } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startWorld, type World } from '@crs/testing/world';
import { sendBytes } from './_answers.ts';

let world: World;
let address: string;
/** A header line with a good key. */
let bearer: string;

beforeAll(async () => {
  world = await startWorld();
  await world.load([
    { type: 'organization', id: 'acme', name: 'Acme', rate_limit: { requests: 100_000, period_seconds: 60 } },
    { type: 'call', organization: 'acme', id: 'call_1', created_at: '2025-03-01T00:00:00Z', summary: 'words' },
  ]);
  address = world.stack.addresses.api;
  bearer = `Authorization: Bearer ${await world.createKey('acme')}\r\n`;
});
afterAll(() => world?.close());

/** The gateway still serves after each test. */
afterEach(async () => {
  expect((await world.rest('/nothing')).status).toBe(404);
});

/** A request with the good key; `|` separates the header lines. */
const lines = (text: string) => `${text.replaceAll('|', '\r\n')}\r\n${bearer}\r\n`;
const CLOSE = 'Host: test|Connection: close';
const ONE = '/v1/calls/call_1';

describe('a request that is not HTTP is refused with the error envelope', () => {
  it.each([
    ['a word', 'nonsense\r\n\r\n'],
    ['TLS', Buffer.from('160301020001000100', 'hex')],
    ['an HTTP/2 preface', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['an unknown version', `GET ${ONE} HTTP/9.9\r\n\r\n`],
    ['an unknown method', `BREW ${ONE} HTTP/1.1\r\nHost: test\r\n\r\n`],
    ['a malformed target', `GET v1/calls HTTP/1.1\r\nHost: test\r\n\r\n`],
    ['a space in the target', `GET /v1/calls /x HTTP/1.1\r\nHost: test\r\n\r\n`],
    ['a byte outside ASCII in the target', Buffer.from(`GET /v1/calls/\xff HTTP/1.1\r\nHost: test\r\n\r\n`, 'latin1')],
    ['a header without a name', `GET ${ONE} HTTP/1.1\r\nHost: test\r\n: x\r\n\r\n`],
    ['NUL in a header', `GET ${ONE} HTTP/1.1\r\nHost: test\r\nX: a\0b\r\n\r\n`],
    ['a folded header', `GET ${ONE} HTTP/1.1\r\nHost: test\r\nX: a\r\n b\r\n\r\n`],
    [
      'a length and chunks',
      `POST ${ONE} HTTP/1.1\r\nHost: test\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    ['two lengths', `POST ${ONE} HTTP/1.1\r\nHost: test\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab`],
    ['a length that is no number', `POST ${ONE} HTTP/1.1\r\nHost: test\r\nContent-Length: x\r\n\r\n`],
  ])('%s: 400', async (_, bytes) => {
    const answers = await sendBytes(address, bytes);
    expect(answers.map(({ status, headers, json }) => [status, headers.get('connection'), json.error.code])).toEqual([
      [400, 'close', 'bad_request'],
    ]);
  });

  it.each([
    ['headers', `GET ${ONE} HTTP/1.1\r\nHost: test\r\nX: ${'x'.repeat(17_000)}\r\n\r\n`],
    ['many headers', `GET ${ONE} HTTP/1.1\r\nHost: test\r\n${'X: y\r\n'.repeat(4_000)}\r\n`],
    ['a target', `GET /v1/calls/${'x'.repeat(17_000)} HTTP/1.1\r\nHost: test\r\n\r\n`],
    ['a good key and headers', () => `GET ${ONE} HTTP/1.1\r\nHost: test\r\n${bearer}X: ${'x'.repeat(17_000)}\r\n\r\n`],
  ])('%s larger than 16 KiB: 431', async (_, bytes) => {
    const answers = await sendBytes(address, typeof bytes === 'string' ? bytes : bytes());
    expect(answers.map(({ status, json }) => [status, json.error.code])).toEqual([[431, 'bad_request']]);
  });

  it('is refused once, even if it comes in many pieces', async () => {
    const [host, port] = address.split(':');
    const socket = createConnection(Number(port), host);
    const closed = once(socket, 'close');
    let received = '';
    socket.on('data', (bytes) => (received += bytes));
    for (let n = 0; n < 40 && socket.writable; n++) {
      socket.write(`nonsense ${'x'.repeat(1_000)}\r\n`);
      await sleep(1);
    }
    await closed;
    expect(received.match(/HTTP\/1\.1 \d{3}/g)).toEqual(['HTTP/1.1 400']);
  });
});

describe('Host', () => {
  it.each([
    ['none', `GET ${ONE} HTTP/1.1|Connection: close`],
    ['two', `GET ${ONE} HTTP/1.1|${CLOSE}|Host: other`],
    ['an empty one', `GET ${ONE} HTTP/1.1|Host:|Connection: close`],
  ])('%s on HTTP/1.1: 400', async (_, head) => {
    const [answer] = await sendBytes(address, lines(head));
    expect(answer!.status).toBe(400);
    expect(answer!.json.error.message).toContain('Host');
  });

  it('may be absent on HTTP/1.0', async () => {
    const answers = await sendBytes(address, lines(`GET ${ONE} HTTP/1.0`));
    expect(answers.map(({ status }) => status)).toEqual([200]);
  });
});

describe('odd but valid HTTP is answered as any other request', () => {
  it.each([
    ['an unknown expectation', `GET ${ONE} HTTP/1.1|${CLOSE}|Expect: nonsense`, 200],
    ['an unknown expectation, on no route', `POST /v1/nothing HTTP/1.1|${CLOSE}|Expect: nonsense`, 404],
    ['an upgrade to WebSocket', `GET ${ONE} HTTP/1.1|Host: test|Connection: Upgrade, close|Upgrade: websocket`, 200],
    [
      'an upgrade to HTTP/2',
      `GET ${ONE} HTTP/1.1|Host: test|Connection: Upgrade, HTTP2-Settings, close|Upgrade: h2c|HTTP2-Settings: AAMAAABk`,
      200,
    ],
    ['the absolute form', `GET http://elsewhere:80${ONE} HTTP/1.1|${CLOSE}`, 200],
    ['the absolute form of an id that can not be decoded', `GET http://elsewhere/v1/calls/%FF HTTP/1.1|${CLOSE}`, 404],
    ['the absolute form of no host', `GET http://[${ONE} HTTP/1.1|${CLOSE}`, 200],
    ['the absolute form of nothing', `GET http://elsewhere HTTP/1.1|${CLOSE}`, 404],
    ['another scheme', `GET ftp://elsewhere${ONE} HTTP/1.1|${CLOSE}`, 404],
    ['a star', `OPTIONS * HTTP/1.1|${CLOSE}`, 404],
    ['CONNECT', `CONNECT elsewhere:443 HTTP/1.1|Host: elsewhere:443`, 404],
    ['a method of WebDAV', `PROPFIND ${ONE} HTTP/1.1|${CLOSE}`, 405],
    ['TRACE', `TRACE ${ONE} HTTP/1.1|${CLOSE}`, 405],
    ['a body', `GET ${ONE} HTTP/1.1|${CLOSE}|Content-Length: 0`, 200],
  ])('%s', async (_, head, status) => {
    const answers = await sendBytes(address, lines(head));
    expect(answers.map((answer) => answer.status)).toEqual([status]);
    // The organization's limit shows that the key was read.
    expect(answers[0]!.headers.get('x-ratelimit-limit')).toBe('100000');
  });

  it('CONNECT without a key is charged to the address', async () => {
    const [answer] = await sendBytes(address, 'CONNECT elsewhere:443 HTTP/1.1\r\nHost: elsewhere:443\r\n\r\n');
    expect(answer!.status).toBe(404);
    expect(answer!.headers.get('x-ratelimit-limit')).toBe('1000000');
  });

  it('the gateway survives a CONNECT whose client is gone', async () => {
    const [host, port] = address.split(':');
    const socket = createConnection(Number(port), host);
    socket.write('CONNECT elsewhere:443 HTTP/1.1\r\nHost: elsewhere:443\r\n\r\n', () => socket.resetAndDestroy());
    await once(socket, 'close');
    await sleep(50);
  });
});

describe('requests sent in one piece', () => {
  const first = `GET ${ONE} HTTP/1.1|Host: test`;

  it('are answered one by one, in order', async () => {
    const requests = [
      first,
      'GET /v1/nothing HTTP/1.1|Host: test',
      'POST /v1/calls HTTP/1.1|Host: test',
      `GET ${ONE}?x=1 HTTP/1.1|${CLOSE}`,
    ];
    const answers = await sendBytes(address, requests.map(lines).join(''));
    expect(answers.map(({ status }) => status)).toEqual([200, 404, 405, 400]);
  });

  it('are answered before nonsense behind them is refused', async () => {
    const answers = await sendBytes(address, `${lines(first)}${lines(first)}nonsense\r\n\r\n`);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 400]);
  });

  it('end with the answer to the one that asks to close the connection', async () => {
    const answers = await sendBytes(address, `${lines(first)}${lines(`GET ${ONE} HTTP/1.1|${CLOSE}`)}nonsense\r\n\r\n`);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  });

  it.each(['chunked', 'rot13'])('a request with an unreadable body is refused once: %s', async (encoding) => {
    const request = lines(`POST /v1/calls HTTP/1.1|Host: test|Transfer-Encoding: ${encoding}`);
    const answers = await sendBytes(address, `${request}nonsense\r\n\r\n`);
    expect(answers).toHaveLength(1);
    expect([400, 405]).toContain(answers[0]!.status);
  });
});

it('the gateway survives clients that hang up in the middle of a request', async () => {
  const [host, port] = address.split(':');
  for (const piece of [
    '',
    'GET /v1/ca',
    `GET ${ONE} HTTP/1.1\r\nHost: te`,
    lines(`GET ${ONE} HTTP/1.1|Host: test`),
    lines(`POST ${ONE} HTTP/1.1|Host: test|Content-Length: 10`),
  ]) {
    for (const hangUp of ['destroy', 'resetAndDestroy'] as const) {
      const socket = createConnection(Number(port), host);
      await once(socket, 'connect');
      socket.write(piece, () => socket[hangUp]());
      await once(socket, 'close');
    }
  }
  await sleep(50);
});
