import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { openSession, type Session } from '@crs/testing/sql';
import { startRelay, type Relay } from '@crs/testing/relay';
import { startWorld, type OwnWorld } from '@crs/testing/world';
import { startGateway, type Gateway } from './_gateway.ts';

const CALL = '/v1/calls/call_1';
const LIST = '/v1/calls?start_date=2025-01-01T00:00:00Z&end_date=2026-01-01T00:00:00Z';
const READ_TIMEOUT_MS = 800;

let world: OwnWorld;
let key: string;
let database: Session;
let wayToCalls: Relay;
let gateway: Gateway;

beforeAll(async () => {
  world = await startWorld();
  await world.load(
    ['acme', 'globex'].flatMap((organization) => [
      { type: 'organization', id: organization, name: organization, rate_limit: { requests: 100_000, period_seconds: 60 } },
      { type: 'call', organization, id: 'call_1', created_at: '2025-03-01T00:00:00Z' },
    ]),
  );
  key = await world.createKey('acme');
  database = await openSession(world.databaseUrl);
  wayToCalls = await startRelay(world.stack.addresses.calls);
  gateway = await startGateway(world, { callsAddress: wayToCalls.address, readTimeoutMs: READ_TIMEOUT_MS });
});
afterAll(async () => {
  await gateway?.stop();
  await wayToCalls?.close();
  await database?.close();
  await world?.close();
});

const recovers = () =>
  vi.waitFor(async () => expect((await gateway.rest(CALL, { key })).status).toBe(200), { timeout: 10_000, interval: 50 });
afterEach(recovers);

/** Runs `work` while a lock blocks every read of calls. */
async function whileLocked(work: () => Promise<void>): Promise<void> {
  await database.query('begin');
  await database.query('lock table calls.calls in access exclusive mode');
  try {
    await work();
  } finally {
    await database.query('rollback');
  }
}

describe('an unexpected error', () => {
  it.each([CALL, LIST])('on %s returns an opaque 500, and the log has the cause under the request id', async (path) => {
    await database.query('revoke select on calls.calls from crs_calls');
    try {
      for (const method of ['GET', 'HEAD']) {
        const { status, headers, text, json } = await gateway.rest(path, { key, method });
        expect(status).toBe(500);
        expect(headers.get('retry-after')).toBeNull();
        expect(headers.get('etag')).toBeNull();
        const id = headers.get('x-request-id');
        if (method === 'GET')
          expect(json.error).toEqual({
            code: 'internal_error',
            message: 'An unexpected error occurred. Quote the request id when you report it.',
            request_id: id,
          });
        expect(text).not.toMatch(/select|calls\.|permission|denied|42501|postgres|grpc|stack|\.ts/i);
        const logged = world.log.map((line) => JSON.parse(line)).filter((entry) => entry.trace_id === id);
        expect(logged.filter(({ level }) => level === 'error').map(({ service, msg }) => `${service}: ${msg}`)).toEqual([
          'calls: call failed',
          'api-gateway: request failed',
        ]);
        expect(JSON.stringify(logged.find(({ service }) => service === 'calls').err)).toContain('42501');
      }
    } finally {
      await database.query('grant select on calls.calls to crs_calls');
    }
  });
});

describe('a request that takes too long', () => {
  it.each([CALL, LIST])('to %s gets 504 within its timeout, and 200 once the lock is released', async (path) => {
    await whileLocked(async () => {
      const started = performance.now();
      const { status, headers, json } = await gateway.rest(path, { key });
      expect(status).toBe(504);
      expect(performance.now() - started).toBeLessThan(READ_TIMEOUT_MS + 5_000);
      expect(json.error).toMatchObject({ code: 'internal_error', message: 'The request took too long. Try again shortly.' });
      expect(headers.get('retry-after')).toBe('1');
    });
    expect((await gateway.rest(path, { key })).status).toBe(200);
  });

  it('occupies no slot once its client has disconnected, so that others are served', async () => {
    await whileLocked(async () => {
      const requests = Array.from({ length: 40 }, () =>
        fetch(`http://${gateway.address}${CALL}`, {
          headers: { authorization: `Bearer ${key}` },
          signal: AbortSignal.timeout(300),
        }),
      );
      for (const { status, reason } of await Promise.allSettled(requests).then((all) => all as PromiseRejectedResult[])) {
        expect([status, reason?.name]).toEqual(['rejected', 'TimeoutError']);
      }
    });
    expect((await gateway.rest(CALL, { key })).status).toBe(200);
  });
});

describe('a request while the calls service is down', () => {
  it('gets 503, and 200 again once the service recovers', async () => {
    await wayToCalls.close();
    for (const [path, method] of [
      [CALL, 'GET'],
      [LIST, 'GET'],
      [CALL, 'HEAD'],
    ] as const) {
      const { status, headers, json } = await gateway.rest(path, { key, method });
      expect(status).toBe(503);
      expect(headers.get('retry-after')).toBe('1');
      if (method === 'GET') expect(json.error.code).toBe('internal_error');
    }
    // These responses don't need the calls service.
    expect((await gateway.rest(CALL)).status).toBe(401);
    expect((await gateway.rest('/v1/nothing', { key })).status).toBe(404);
    expect((await gateway.rest('/v1/calls', { key })).status).toBe(400);
    await wayToCalls.open();
    await recovers();
  });

  it('gets 504 within its timeout if the service hangs', async () => {
    wayToCalls.block();
    const started = performance.now();
    const { status, headers } = await gateway.rest(CALL, { key });
    expect(status).toBe(504);
    expect(performance.now() - started).toBeLessThan(READ_TIMEOUT_MS + 5_000);
    expect(headers.get('retry-after')).toBe('1');
    await wayToCalls.close();
    await wayToCalls.open();
  });
});

it('the log line of a slow request has the seconds that it waited for each service', async () => {
  const patient = await startGateway(world, { callsAddress: wayToCalls.address });
  onTestFinished(() => patient.stop());
  const lineOf = async () => {
    const id = (await patient.rest(CALL, { key })).headers.get('x-request-id');
    await expect.poll(() => world.log.filter((line) => line.includes(`"trace_id":"${id}"`))).toHaveLength(1);
    return JSON.parse(world.log.find((line) => line.includes(`"trace_id":"${id}"`))!) as Record<string, unknown>;
  };
  expect(await lineOf()).not.toHaveProperty('services');
  wayToCalls.delay(1_000);
  const { services, seconds } = await lineOf();
  wayToCalls.delay(0);
  expect(Object.keys(services as object)).toContain('calls');
  const { calls } = services as { calls: number };
  expect(calls).toBeGreaterThan(0.99);
  expect(calls).toBeLessThan(seconds as number);
});
