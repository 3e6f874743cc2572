import { afterAll, beforeAll, expect, it } from 'vitest';
import { HALF_SENT, sendAndStall } from '@crs/testing/half-sent';
import { organization, startAuthWorld, type AuthWorld } from './_fixtures.ts';

let world: AuthWorld;
beforeAll(async () => void (world = await startAuthWorld([organization('acme')])));
afterAll(() => world?.close());

it('ends the connection of a request that was answered before its body was there', { timeout: 30_000 }, async () => {
  const requests: [status: number, line: string][] = [
    [404, 'POST /nothing'],
    [404, 'POST /v1/nothing'],
    [200, 'GET /jwks'],
  ];
  const all = Object.values(HALF_SENT).flatMap((half) =>
    requests.map(([status, line]) => ({ status, bytes: half(`${line} HTTP/1.1\r\nHost: tools.example`) })),
  );
  const answers = await Promise.all(all.map(({ bytes }) => sendAndStall(world.stack.addresses.authHttp, bytes)));
  expect(answers).toEqual(all.map(({ status }) => ({ statuses: [status], isEnded: true })));
});
