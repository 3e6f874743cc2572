import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { parseNetworks } from '@crs/kit/http/address';
import { HALF_SENT, sendAndStall } from '@crs/testing/half-sent';
import { sendRaw } from '@crs/testing/send-raw';
import { sharedWorld, tenant, TOOLS_URL, type World } from '@crs/testing/world';
import { ask, bearer, LEGACY, newAddress, spoken, startGateway, toolCall } from './_requests.ts';

const ANN = 'ann@acme.example';
const HOST = new URL(TOOLS_URL).host;
const JSON_TYPES = ['Content-Type: application/json', 'Accept: application/json, text/event-stream'];
const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];

let world: World;
let token: string;
let otherToken: string;

beforeAll(async () => {
  world = await sharedWorld();
  for (const organization of [ACME, GLOBEX])
    await world.load([
      { type: 'organization', id: organization, tool_rate_limit: { requests: 100_000, period_seconds: 60 } },
      { type: 'user', organization, email: ANN, name: 'Ann' },
    ]);
  [token, otherToken] = [await bearer(world, ACME, ANN), await bearer(world, GLOBEX, ANN)];
});

const head = (line: string, ...more: string[]) => [`${line} HTTP/1.1`, `Host: ${HOST}`, ...more].join('\r\n');
const BODY_TIMED_OUT = /^HTTP\/1\.1 408 [^]*"code":"bad_request","message":"The body did not arrive within 5 s\."/;
const inHalf = (line: string, ...more: string[]) => HALF_SENT.withLength(head(line, ...more));

// Concurrent, because each test waits 5 s for the body to time out.
describe.concurrent('a half-sent body', { timeout: 30_000 }, () => {
  it('makes the server end the connection, even if it responded before the body arrived', async () => {
    const { tools, authHttp } = world.stack.addresses;
    const good = `Authorization: ${token}`;
    /** A gateway at which the limit of our address is used up. Without the rate-limit service, it alone counts, however busy the machine is. */
    const addressLimit = { requests: 1, periodSeconds: 86_400 };
    const spent = await startGateway(world, { addressLimit, rateLimitAddress: '127.0.0.1:1' });
    await ask(spent.address, {});
    const requests: [status: number, address: string, head: string][] = [
      [401, tools, head('POST /mcp', ...JSON_TYPES)],
      [403, tools, head('POST /mcp', good, ...JSON_TYPES, 'Origin: https://evil.example')],
      [404, tools, head('POST /nothing')],
      [405, tools, head('PUT /mcp', good, ...JSON_TYPES)],
      [405, tools, head('DELETE /token')],
      [415, tools, head('POST /mcp', good, 'Content-Type: text/plain')],
      [429, spent.address, head('POST /mcp', ...JSON_TYPES)],
      // These requests are valid, so the gateway waits 5 s for the body.
      [408, tools, head('POST /mcp', good, ...JSON_TYPES)],
      [408, tools, head('POST /token')],
      [404, authHttp, head('POST /nothing')],
      [404, authHttp, head('POST /v1/nothing')],
      [200, authHttp, head('GET /jwks')],
    ];
    const tooLarge = ['/mcp', '/token'].flatMap((path) => [
      [413, tools, `${head(`POST ${path}`, good, ...JSON_TYPES)}\r\nContent-Length: 65537\r\n\r\n{`] as const,
      [413, tools, `${head(`POST ${path}`, good, ...JSON_TYPES)}\r\nTransfer-Encoding: chunked\r\n\r\n10001\r\n${' '.repeat(65_537)}`] as const,
    ]); // prettier-ignore
    const all = [
      ...Object.values(HALF_SENT).flatMap((half) => requests.map(([status, at, text]) => [status, at, half(text)] as const)),
      ...tooLarge,
    ];
    const answers = await Promise.all(all.map(([, address, bytes]) => sendAndStall(address, bytes)));
    await spent.stop();
    expect(answers).toEqual(all.map(([status]) => ({ statuses: [status], isEnded: true })));
  });

  it('does not occupy a slot of its organization', async () => {
    const gateway = await startGateway(world, { tenantConcurrency: 1 });
    const half = inHalf('POST /mcp', `Authorization: ${token}`, ...JSON_TYPES);
    const halves = Array.from({ length: 4 }, () => half);
    const answers = await stall(gateway.address, halves, async () => {
      for (const authorization of [token, otherToken]) {
        const { json } = await ask(gateway.address, spoken(LEGACY, toolCall('list_projects'), authorization));
        expect(json.result.structuredContent).toEqual({ projects: [], next_cursor: null });
      }
    });
    await gateway.stop();
    for (const answer of answers) expect(answer).toMatch(BODY_TIMED_OUT);
  });

  it('does not prevent others from signing in, even if 160 of them are pending', async () => {
    const gateway = await startGateway(world, {
      authHttpAddress: world.stack.addresses.authHttp,
      trustedProxies: parseNetworks('127.0.0.1')!,
      timeoutMs: 2_000,
    });
    const attackers = Array.from({ length: 4 }, newAddress);
    const page = inHalf('POST /sign-in/a', `X-Forwarded-For: ${newAddress()}`);
    const programs = Array.from({ length: 160 }, (_, n) => inHalf('POST /token', `X-Forwarded-For: ${attackers[n % 4]}`));
    const [person, ...others] = await stall(gateway.address, [page, ...programs], async () => {
      const headers = { host: HOST, 'content-type': 'application/x-www-form-urlencoded', 'x-forwarded-for': newAddress() };
      const answer = await ask(gateway.address, { path: '/token', headers, body: 'a=b' });
      expect(answer).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
    });
    await gateway.stop();
    expect(person).toMatch(/^HTTP\/1\.1 408 [^]*text\/plain[^]*The body did not arrive within 5 s\./);
    for (const answer of others) expect(answer).toMatch(BODY_TIMED_OUT);
  });
});

/** Sends the requests concurrently, and meanwhile calls `check` repeatedly, which asserts that others are served. @returns all responses */
async function stall(address: string, requests: string[], check: () => Promise<void>): Promise<string[]> {
  let isOver = false;
  const all = Promise.all(requests.map((bytes) => sendRaw(address, bytes))).finally(() => (isOver = true));
  for (let round = 0; round < 20 && !isOver; round++) {
    await check();
    await sleep(50);
  }
  return all;
}
