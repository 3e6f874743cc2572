import { once } from 'node:events';
import { createConnection } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { HALF_SENT, sendAndStall } from '@crs/testing/half-sent';
import { startWorld, type OwnWorld } from '@crs/testing/world';

let world: OwnWorld;
/** A header line for each credential. */
let keys: Record<'good' | 'spent' | 'none', string>;

beforeAll(async () => {
  world = await startWorld();
  for (const [id, requests] of [
    ['acme', 100_000],
    ['spent', 1],
  ] as const) {
    const rate_limit = { requests, period_seconds: 86_400 };
    await world.load([{ type: 'organization', id, name: id, write_surface: true, rate_limit }]);
  }
  const spent = await world.createKey('spent');
  await world.rest('/v1/calls', { key: spent });
  const line = (key: string) => `\r\nAuthorization: Bearer ${key}`;
  keys = { good: line(await world.createKey('acme')), spent: line(spent), none: '' };
});
afterAll(() => world?.close());

const JSON_TYPE = '\r\nContent-Type: application/json';

it('ends the connection of a request that was answered before its body was there', { timeout: 30_000 }, async () => {
  const requests: [status: number, head: string][] = [
    [401, `POST /v1/projects HTTP/1.1\r\nHost: rest${keys.none}${JSON_TYPE}`],
    [404, `POST /v1/nothing HTTP/1.1\r\nHost: rest${keys.good}`],
    [405, `POST /v1/calls HTTP/1.1\r\nHost: rest${keys.good}`],
    [415, `POST /v1/projects HTTP/1.1\r\nHost: rest${keys.good}`],
    [429, `POST /v1/projects HTTP/1.1\r\nHost: rest${keys.spent}${JSON_TYPE}`],
    [200, `GET /v1/openapi.json HTTP/1.1\r\nHost: rest`],
    [404, `POST /nothing HTTP/1.1\r\nHost: rest\r\nExpect: nonsense`],
    // The body is read for 5 s.
    [408, `POST /v1/projects HTTP/1.1\r\nHost: rest${keys.good}${JSON_TYPE}`],
  ];
  const tooLarge: [number, string][] = [
    [413, `POST /v1/projects HTTP/1.1\r\nHost: rest${keys.good}${JSON_TYPE}\r\nContent-Length: 65537\r\n\r\n{`],
    [413, `POST /v1/projects HTTP/1.1\r\nHost: rest${keys.good}${JSON_TYPE}\r\nTransfer-Encoding: chunked\r\n\r\n10001\r\n${' '.repeat(65_537)}`],
  ]; // prettier-ignore
  const all = [
    ...Object.values(HALF_SENT).flatMap((half) => requests.map(([status, head]) => [status, half(head)] as const)),
    ...tooLarge,
  ];
  const answers = await Promise.all(all.map(([, bytes]) => sendAndStall(world.stack.addresses.api, bytes)));
  expect(answers).toEqual(all.map(([status]) => ({ statuses: [status], isEnded: true })));
});

it('keeps the connection of a request whose body comes after its answer', { timeout: 30_000 }, async () => {
  const [host, port] = world.stack.addresses.api.split(':');
  const socket = createConnection(Number(port), host);
  const answered = async (status: number) => expect(String(await once(socket, 'data'))).toContain(`HTTP/1.1 ${status} `);
  socket.write(`POST /v1/projects HTTP/1.1\r\nHost: rest\r\nContent-Length: 4\r\n\r\nha`);
  await answered(401);
  socket.write('lf');
  // The time for the body passes.
  await sleep(6_000);
  socket.write('GET /v1/calls HTTP/1.1\r\nHost: rest\r\n\r\n');
  await answered(401);
  socket.destroy();
});
