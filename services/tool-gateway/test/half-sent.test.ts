import { afterAll, beforeAll, expect, it } from 'vitest';
import { HALF_SENT, sendAndStall } from '@crs/testing/half-sent';
import { startWorld, TOOLS_URL, type OwnWorld } from '@crs/testing/world';
import { ask, bearer, startGateway } from './_requests.ts';

const ANN = 'ann@acme.example';
const HOST = new URL(TOOLS_URL).host;

let world: OwnWorld;
/** Its limit for an address is used up. */
let spent: Awaited<ReturnType<typeof startGateway>>;
let token: string;

beforeAll(async () => {
  world = await startWorld();
  await world.load([
    { type: 'organization', id: 'acme', name: 'Acme' },
    { type: 'user', organization: 'acme', email: ANN, name: 'Ann' },
  ]);
  token = await bearer(world, 'acme', ANN);
  spent = await startGateway(world, { addressLimit: { requests: 1, periodSeconds: 86_400 } });
  await ask(spent.address, {});
});
afterAll(async () => {
  await spent?.stop();
  await world?.close();
});

it('ends the connection of a request that was answered before its body was there', { timeout: 30_000 }, async () => {
  const { tools } = world.stack.addresses;
  const head = (line: string, ...more: string[]) => [`${line} HTTP/1.1`, `Host: ${HOST}`, ...more].join('\r\n');
  const good = `Authorization: ${token}`;
  const json = ['Content-Type: application/json', 'Accept: application/json, text/event-stream'];
  const requests: [status: number, address: string, head: string][] = [
    [401, tools, head('POST /mcp', ...json)],
    [403, tools, head('POST /mcp', good, ...json, 'Origin: https://evil.example')],
    [404, tools, head('POST /nothing')],
    [405, tools, head('PUT /mcp', good, ...json)],
    [405, tools, head('DELETE /token')],
    [415, tools, head('POST /mcp', good, 'Content-Type: text/plain')],
    [429, spent.address, head('POST /mcp', ...json)],
    // The body is read for 5 s.
    [408, tools, head('POST /mcp', good, ...json)],
    [408, tools, head('POST /token')],
  ];
  const tooLarge = ['/mcp', '/token'].flatMap((path) => [
    [413, tools, `${head(`POST ${path}`, good, ...json)}\r\nContent-Length: 65537\r\n\r\n{`] as const,
    [413, tools, `${head(`POST ${path}`, good, ...json)}\r\nTransfer-Encoding: chunked\r\n\r\n10001\r\n${' '.repeat(65_537)}`] as const,
  ]); // prettier-ignore
  const all = [
    ...Object.values(HALF_SENT).flatMap((half) => requests.map(([status, at, text]) => [status, at, half(text)] as const)),
    ...tooLarge,
  ];
  const answers = await Promise.all(all.map(([, address, bytes]) => sendAndStall(address, bytes)));
  expect(answers).toEqual(all.map(([status]) => ({ statuses: [status], isEnded: true })));
});
