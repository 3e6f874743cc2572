import { setTimeout as sleep } from 'node:timers/promises';
import { openSession, type Session } from '@crs/testing/sql';
import { startWorld, type OwnWorld } from '@crs/testing/world';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { ask, bearer, errorOf, LEGACY, message, MODERN, spoken, startGateway, toolCall, type Answer } from './_requests.ts';

/** Waiting requests are refused when a fifth of this is left, so a fifth must be longer than a busy machine may stall. */
const TIMEOUT_MS = 5_000;

let world: OwnWorld;
let gateway: Awaited<ReturnType<typeof startGateway>>;
/** A session that holds a lock on calls.calls, which blocks every read of it. */
let locks: Session;
/** Tokens of two users of acme, and of one user of another organization. */
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
  gateway = await startGateway(world, { tenantConcurrency: 1, timeoutMs: TIMEOUT_MS });
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

/** Occupies the only slot of acme with a blocked call. */
async function occupySlot(): Promise<{ stuck: Promise<Answer> }> {
  await locks.query('begin');
  await locks.query('lock table calls.calls in access exclusive mode');
  const stuck = use('ann', 'list_calls');
  const blocked = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  await vi.waitFor(async () => expect((await world.query(blocked)).rows).not.toEqual([]), { timeout: 5_000 });
  return { stuck };
}

it.each([LEGACY, MODERN])(
  "a request of protocol version %s waits for a slot of its organization, while another organization's requests are served",
  async (version) => {
    const { stuck } = await occupySlot();
    let isServed = false;
    const second = use('bob', 'list_projects', version).finally(() => (isServed = true));
    expect((await use('other', 'list_projects', version)).json.result.isError).toBeUndefined();
    await sleep(50);
    expect(isServed).toBe(false);
    await locks.query('rollback');
    expect((await second).json.result.structuredContent).toEqual({ projects: [], next_cursor: null });
    expect((await stuck).json.result.structuredContent).toEqual({ calls: [], next_cursor: null });
  },
);

describe('while all slots of its organization are occupied, a request', () => {
  const MESSAGES: Record<string, ReturnType<typeof message>> = {
    list_projects: toolCall('list_projects'),
    ...Object.fromEntries(['tools/list', 'initialize', 'ping', 'nope'].map((method) => [method, message(method)])),
  };
  const CASES = [LEGACY, MODERN].flatMap((version) => Object.keys(MESSAGES).map((what) => ({ version, what })));
  /** The responses to all requests, which wait at the same time, and the milliseconds that each waited. */
  let answers: Map<string, { answer: Answer; waited: number }>;

  beforeAll(async () => {
    const { stuck } = await occupySlot();
    const requests = CASES.map(async ({ version, what }) => {
      const started = performance.now();
      const answer = await ask(gateway.address, spoken(version, MESSAGES[what]!, tokens.bob));
      return [`${version} ${what}`, { answer, waited: performance.now() - started }] as const;
    });
    answers = new Map(await Promise.all(requests));
    await locks.query('rollback');
    await stuck;
  }, 30_000);

  it.each([LEGACY, MODERN])(
    'of protocol version %s to a tool gets an error with a retry time when a fifth of its timeout is left',
    (version) => {
      const { answer, waited } = answers.get(`${version} list_projects`)!;
      expect(waited).toBeGreaterThan(0.75 * TIMEOUT_MS);
      expect(answer.status).toBe(200);
      const { code, message: text } = errorOf(answer);
      const seconds = answer.headers['retry-after'];
      expect([code, text]).toEqual([
        'internal_error',
        `Too many requests are under way. Try again shortly, with fewer at a time. (Retry after ${seconds} s.)`,
      ]);
      expect(Number(seconds)).toBeLessThanOrEqual(3);
    },
  );

  it.each(CASES.filter(({ what }) => what !== 'list_projects'))(
    'of protocol version $version for $what needs a slot too, and gets 503 with Retry-After',
    ({ version, what }) => {
      const { answer } = answers.get(`${version} ${what}`)!;
      expect([answer.status, answer.json.error.code]).toEqual([503, 'internal_error']);
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    },
  );
});
