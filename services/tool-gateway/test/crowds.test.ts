import { setTimeout as sleep } from 'node:timers/promises';
import { sendRaw } from '@crs/testing/send-raw';
import { openSession, type Session } from '@crs/testing/sql';
import { startWorld, type World } from '@crs/testing/world';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ask, bearer, errorOf, LEGACY, message, MODERN, spoken, startGateway, toolCall, type Answer } from './_requests.ts';

let world: World;
let gateway: Awaited<ReturnType<typeof startGateway>>;
/** Holds a lock that blocks every read of calls. */
let locks: Session;
/** Tokens of two users of one organization, and of one user of another. */
const tokens: Record<'ann' | 'bob' | 'other', string> = { ann: '', bob: '', other: '' };

beforeAll(async () => {
  world = await startWorld();
  for (const organization of ['acme', 'other']) {
    const tool_rate_limit = { requests: 100_000, period_seconds: 60 };
    await world.load([
      { type: 'organization', id: organization, name: organization, tool_rate_limit },
      { type: 'user', organization, email: 'ann@acme.example', name: 'Ann' },
      { type: 'user', organization, email: 'bob@acme.example', name: 'Bob' },
    ]);
  }
  tokens.ann = await bearer(world, 'acme', 'ann@acme.example');
  tokens.bob = await bearer(world, 'acme', 'bob@acme.example');
  tokens.other = await bearer(world, 'other', 'ann@acme.example');
  gateway = await startGateway(world, { tenantConcurrency: 1, timeoutMs: 2_000 });
  for (const who of ['ann', 'bob', 'other'] as const) for (const tool of ['list_calls', 'list_projects']) await use(who, tool);
  locks = await openSession(world.databaseUrl);
});
afterEach(() => locks.query('rollback'));
afterAll(async () => {
  await locks?.close();
  await gateway?.stop();
  await world?.close();
});

const use = (who: keyof typeof tokens, tool: string, version = LEGACY): Promise<Answer> =>
  ask(gateway.address, spoken(version, toolCall(tool), tokens[who]));

/** Fills the slot of acme with a blocked call. */
async function crowd(): Promise<{ stuck: Promise<Answer> }> {
  await locks.query('begin');
  await locks.query('lock table calls.calls in access exclusive mode');
  const stuck = use('ann', 'list_calls');
  await sleep(300);
  return { stuck };
}

describe.each([LEGACY, MODERN])('a client of %s', (version) => {
  it('waits for a slot of its organization, while another organization is served', async () => {
    const { stuck } = await crowd();
    let isServed = false;
    const second = use('bob', 'list_projects', version).finally(() => (isServed = true));
    expect((await use('other', 'list_projects', version)).json.result.isError).toBeUndefined();
    await sleep(200);
    expect(isServed).toBe(false);
    await locks.query('rollback');
    expect((await second).json.result.structuredContent).toEqual({ projects: [], next_cursor: null });
    expect((await stuck).json.result.structuredContent).toEqual({ calls: [], next_cursor: null });
  });

  it('is told by the tool to come back when a fifth of its time is left', async () => {
    const { stuck } = await crowd();
    const started = performance.now();
    const answer = await use('bob', 'list_projects', version);
    const waited = performance.now() - started;
    expect(waited).toBeGreaterThan(1_500);
    expect(waited).toBeLessThan(5_000);
    expect(answer.status).toBe(200);
    const { code, message: text } = errorOf(answer);
    const seconds = answer.headers['retry-after'];
    expect([code, text]).toEqual([
      'internal_error',
      `Too many requests are under way. Try again shortly, with fewer at a time. (Retry after ${seconds} s.)`,
    ]);
    expect(Number(seconds)).toBeLessThanOrEqual(3);
    await stuck;
  });

  it.each(['tools/list', 'initialize', 'ping', 'nope'])(
    'needs a slot for %s too, and hears when to come back',
    async (method) => {
      const { stuck } = await crowd();
      const answer = await ask(gateway.address, spoken(version, message(method), tokens.bob));
      expect([answer.status, answer.json.error.code]).toEqual([503, 'internal_error']);
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
      await stuck;
    },
  );
});

it('a body that does not arrive holds no slot, and is given up after 5 s', async () => {
  const { headers } = spoken(LEGACY, toolCall('list_projects'), tokens.ann);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const half = ['POST /mcp HTTP/1.1', 'Host: localhost', ...lines, 'Content-Length: 9', '', '{'].join('\r\n');
  const attackers = Array.from({ length: 4 }, () => sendRaw(gateway.address, half));
  await sleep(200);
  expect((await use('bob', 'list_projects')).json.result.isError).toBeUndefined();
  for (const answered of await Promise.all(attackers)) {
    expect(answered).toMatch(/^HTTP\/1\.1 408 /);
    expect(answered).toContain('"code":"bad_request","message":"The body did not arrive within 5 s."');
  }
});
