import { createServer, type Http2Server, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApiKey } from '@crs/kit/api-key';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { sendBytes } from './_answers.ts';
import { startGateway, type Gateway } from './_gateway.ts';

const UNTRUSTED_TRACE = '0af7651916cd43dd8448eb211c80319c';
/** Headers that any client may send, and that must not reach a backend service. */
const UNTRUSTED = {
  traceparent: `00-${UNTRUSTED_TRACE}-b7ad6b7169203331-01`,
  tracestate: 'vendor=untrusted-state',
  baggage: 'organization=untrusted-baggage',
  'x-request-id': 'f'.repeat(32),
  'x-organization-id': 'untrusted-organization',
  'x-caller-token': 'untrusted-token',
  'x-b3-traceid': UNTRUSTED_TRACE,
  'grpc-timeout': '1n',
  cookie: 'session=untrusted-cookie',
};

const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];

let world: World;
let key: string;
let spy: Http2Server;
let gateway: Gateway;
/** The headers of each gRPC call that the fake auth received. */
const receivedHeaders: IncomingHttpHeaders[] = [];

beforeAll(async () => {
  world = await sharedWorld();
  await world.load(
    [ACME, GLOBEX].flatMap((organization) => [
      { type: 'organization', id: organization, name: organization, rate_limit: { requests: 100_000, period_seconds: 60 } },
      { type: 'call', organization, id: 'call_1' },
    ]),
  );
  key = await world.createKey(ACME);
  spy = createServer();
  spy.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    receivedHeaders.push(headers);
    stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '13' }, { endStream: true });
  });
  await new Promise<void>((resolve) => spy.listen(0, '127.0.0.1', resolve));
  gateway = await startGateway(world, { authAddress: `127.0.0.1:${(spy.address() as AddressInfo).port}` });
});
afterAll(async () => {
  await gateway?.stop();
  spy?.close();
});

describe('a request id', () => {
  it('is new in each response, of any status, whatever id the client sends', async () => {
    const { api } = world.stack.addresses;
    const headers = { Authorization: `Bearer ${key}`, Host: 'test', ...UNTRUSTED };
    const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const last = `GET /nothing HTTP/1.1\r\n${head.join('')}Connection: close\r\n\r\n`;
    const same = await sendBytes(api, `GET /v1/calls/call_1 HTTP/1.1\r\n${head.join('')}\r\n`.repeat(2) + last);
    const answers = [
      ...same,
      await world.rest('/v1/calls/call_1', { key, headers: UNTRUSTED }),
      await world.rest('/v1/calls/unknown', { key, headers: UNTRUSTED }),
      await world.rest('/v1/calls', { headers: UNTRUSTED }),
      await world.rest('/nothing', { headers: UNTRUSTED }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 404, 200, 404, 401, 404]);
    const ids = answers.map((answer) => answer.headers.get('x-request-id'));
    expect(new Set(ids).size).toBe(answers.length);
    for (const id of ids) expect(['0'.repeat(32), UNTRUSTED_TRACE, UNTRUSTED['x-request-id']]).not.toContain(id);
  });
});

describe('a call from the gateway to a service', () => {
  it('continues the trace of the request, and passes on none of its other headers', async () => {
    const { status, headers } = await gateway.rest('/v1/calls/call_1', { key: createApiKey(), headers: UNTRUSTED });
    expect(status).toBe(500);
    expect(receivedHeaders).toHaveLength(1);
    const [sent] = receivedHeaders;
    const ours = ['grpc-accept-encoding', 'accept-encoding', 'grpc-timeout', 'user-agent', 'content-type', 'te', 'traceparent'];
    expect(Object.keys(sent!).filter((name) => !name.startsWith(':') && !ours.includes(name))).toEqual([]);
    expect(sent!['traceparent']).toMatch(new RegExp(`^00-${headers.get('x-request-id')}-[0-9a-f]{16}-0[01]$`));
    expect(JSON.stringify(sent)).not.toContain('untrusted');
    expect(sent!['grpc-timeout']).not.toBe('1n');
  });
});
