import { once } from 'node:events';
import { createConnection } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { sendRaw } from '@crs/testing/send-raw';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { sendBytes } from './_answers.ts';

const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];

let world: World;
let address: string;
/** An Authorization header line with a valid key. */
let bearer: string;

beforeAll(async () => {
  world = await sharedWorld();
  await world.load(
    [ACME, GLOBEX].flatMap((organization) => [
      { type: 'organization', id: organization, name: organization, rate_limit: { requests: 100_000, period_seconds: 60 } },
      {
        type: 'call',
        organization,
        id: 'call_1',
        created_at: '2025-03-01T00:00:00Z',
        segment: `of ${organization}`,
      },
    ]),
  );
  address = world.stack.addresses.api;
  bearer = `Authorization: Bearer ${await world.createKey(ACME)}\r\n`;
});

/** Checks after each test that the gateway still serves requests. */
afterEach(async () => {
  expect((await world.rest('/nothing')).status).toBe(404);
});

/** Builds a request with the valid key. `|` in the argument separates header lines. */
const lines = (text: string) => `${text.replaceAll('|', '\r\n')}\r\n${bearer}\r\n`;
const CLOSE = 'Host: test|Connection: close';
const ONE = '/v1/calls/call_1';

describe('Node refuses and closes the connection after', () => {
  it.each([
    ['bytes that are not HTTP', 'nonsense\r\n\r\n', 400],
    [
      'both Content-Length and chunked encoding',
      lines(`POST ${ONE} HTTP/1.1|Host: test|Content-Length: 4|Transfer-Encoding: chunked`),
      400,
    ],
    ['two Content-Length headers', lines(`POST ${ONE} HTTP/1.1|Host: test|Content-Length: 1|Content-Length: 2`), 400],
    ['a request without Host', lines(`GET ${ONE} HTTP/1.1`), 400],
    ['headers larger than 16 KiB', lines(`GET ${ONE} HTTP/1.1|Host: test|X: ${'x'.repeat(17_000)}`), 431],
  ])('%s', async (_, bytes, status) => {
    const received = await sendRaw(address, bytes);
    expect(received.match(/HTTP\/1\.1 \d{3}/g)).toEqual([`HTTP/1.1 ${status}`]);
    expect(received).toContain('\r\nConnection: close\r\n');
  });
});

describe('unusual but valid HTTP is handled like any other request:', () => {
  it.each([
    ['Expect: 100-continue', `POST /v1/nothing HTTP/1.1|${CLOSE}|Expect: 100-continue|Content-Length: 0`, 404],
    ['an unknown Expect header', `POST /v1/nothing HTTP/1.1|${CLOSE}|Expect: nonsense`, 404],
    ['an upgrade to WebSocket', `GET ${ONE} HTTP/1.1|Host: test|Connection: Upgrade, close|Upgrade: websocket`, 200],
    ['a target in absolute form', `GET http://elsewhere:80${ONE} HTTP/1.1|${CLOSE}`, 200],
    ['a target in absolute form with an undecodable id', `GET http://elsewhere/v1/calls/%FF HTTP/1.1|${CLOSE}`, 404],
    ['a target in absolute form with an invalid host', `GET http://[${ONE} HTTP/1.1|${CLOSE}`, 200],
    ['a target in absolute form without a path', `GET http://elsewhere HTTP/1.1|${CLOSE}`, 404],
    ['OPTIONS *', `OPTIONS * HTTP/1.1|${CLOSE}`, 404],
    ['TRACE', `TRACE ${ONE} HTTP/1.1|${CLOSE}`, 405],
    ['HTTP/1.0 without Host', `GET ${ONE} HTTP/1.0`, 200],
  ])('%s', async (_, head, status) => {
    const answers = await sendBytes(address, lines(head));
    expect(answers.map((answer) => answer.status)).toEqual([status]);
    // The limit in the response is that of the organization, so the key was accepted.
    expect(answers[0]!.headers.get('x-ratelimit-limit')).toBe('100000');
    if (status === 200) expect(answers[0]!.json.segment).toBe(`of ${ACME}`);
  });

  it('pipelined requests get their responses one by one, in order', async () => {
    const requests = [`GET ${ONE} HTTP/1.1|Host: test`, 'POST /v1/calls HTTP/1.1|Host: test', `GET ${ONE}?x=1 HTTP/1.1|${CLOSE}`];
    const answers = await sendBytes(address, requests.map(lines).join(''));
    expect(answers.map(({ status }) => status)).toEqual([200, 405, 400]);
  });
});

it('the gateway survives clients that disconnect in the middle of a request', async () => {
  const [host, port] = address.split(':');
  for (const piece of [
    'GET /v1/ca',
    `CONNECT elsewhere:443 HTTP/1.1\r\nHost: elsewhere:443\r\n\r\n`,
    lines(`GET ${ONE} HTTP/1.1|Host: test`),
    lines(`POST /v1/projects HTTP/1.1|Host: test|Content-Type: application/json|Content-Length: 10`),
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
