import { createServer, type Http2Server, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApiKey } from '@crs/kit/api-key';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { sendBytes } from './_answers.ts';
import { startGateway, type Gateway } from './_gateway.ts';

const OUTSIDE_TRACE = '0af7651916cd43dd8448eb211c80319c';
/** Headers that a stranger may send, and that must not reach a service. */
const OUTSIDE = {
  traceparent: `00-${OUTSIDE_TRACE}-b7ad6b7169203331-01`,
  tracestate: 'vendor=outside-state',
  baggage: 'organization=outside-baggage',
  'x-request-id': 'f'.repeat(32),
  'x-organization-id': 'outside-organization',
  'x-caller-token': 'outside-token',
  'x-b3-traceid': OUTSIDE_TRACE,
  'grpc-timeout': '1n',
  cookie: 'session=outside-cookie',
};

const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];

let world: World;
let key: string;
let spy: Http2Server;
let gateway: Gateway;
/** Headers of the gRPC calls to the server in auth's place. */
const inward: IncomingHttpHeaders[] = [];

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
    inward.push(headers);
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
  it('is new with each answer of any status, whatever id the client sends', async () => {
    const { api } = world.stack.addresses;
    const headers = { Authorization: `Bearer ${key}`, Host: 'test', ...OUTSIDE };
    const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const last = `GET /nothing HTTP/1.1\r\n${head.join('')}Connection: close\r\n\r\n`;
    const same = await sendBytes(api, `GET /v1/calls/call_1 HTTP/1.1\r\n${head.join('')}\r\n`.repeat(2) + last);
    const answers = [
      ...same,
      await world.rest('/v1/calls/call_1', { key, headers: OUTSIDE }),
      await world.rest('/v1/calls/unknown', { key, headers: OUTSIDE }),
      await world.rest('/v1/calls', { headers: OUTSIDE }),
      await world.rest('/nothing', { headers: OUTSIDE }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 404, 200, 404, 401, 404]);
    const ids = answers.map((answer) => answer.headers.get('x-request-id'));
    expect(new Set(ids).size).toBe(answers.length);
    for (const id of ids) expect(['0'.repeat(32), OUTSIDE_TRACE, OUTSIDE['x-request-id']]).not.toContain(id);
  });
});

describe('a call to a service', () => {
  it("is in the request's own trace and carries nothing else of the request", async () => {
    const { status, headers } = await gateway.rest('/v1/calls/call_1', { key: createApiKey(), headers: OUTSIDE });
    expect(status).toBe(500);
    expect(inward).toHaveLength(1);
    const [sent] = inward;
    const ours = ['grpc-accept-encoding', 'accept-encoding', 'grpc-timeout', 'user-agent', 'content-type', 'te', 'traceparent'];
    expect(Object.keys(sent!).filter((name) => !name.startsWith(':') && !ours.includes(name))).toEqual([]);
    expect(sent!['traceparent']).toMatch(new RegExp(`^00-${headers.get('x-request-id')}-[0-9a-f]{16}-0[01]$`));
    expect(JSON.stringify(sent)).not.toContain('outside');
    expect(sent!['grpc-timeout']).not.toBe('1n');
  });
});
