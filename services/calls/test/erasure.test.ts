import { interceptStatements } from '@crs/testing/intercept-statements';
import type { EraseRequest } from '@crs/proto/crs/erasures/v1/erasures';
import { openSession, type Session } from '@crs/testing/sql';
import { startWorld, type OwnWorld } from '@crs/testing/world';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { shownName, startAnother } from './_clients.ts';
import { callLine, PROJECT, sendBatch, tenant } from './_records.ts';

const TABLES = ['calls', 'notes', 'call_days', 'name_secrets', 'changes', 'feeds'];

let world: OwnWorld;
let database: Session;
let key: string;

beforeAll(async () => {
  world = await startWorld();
  database = await openSession(world.databaseUrl);
  await world.load([...tenant('acme', { anonymize_interviewees: true }), ...tenant('globex')]);
  key = await world.createKey('acme');
  await store('globex');
});
afterAll(async () => {
  await database?.close();
  await world?.close();
});
beforeEach(() => store('acme'));

const call = (organization: string, n: number) =>
  callLine(organization, `call-${n}`, {
    created_at: `2025-03-0${1 + (n % 3)}T10:00:00Z`,
    project_id: n % 2 === 0 ? PROJECT : null,
    conducted_by: n % 2 === 0 ? 'ann@crs.example' : 'bob@crs.example',
    expert: { name: 'Eva Muster' },
    transcript: 'words',
    notes: ['ann', 'bob'].map((name) => ({ email: `${name}@crs.example`, text: 'x' })),
  });
const store = (organization: string) =>
  sendBatch(
    world,
    organization,
    [1, 2, 3, 4, 5].map((n) => call(organization, n)),
  );

async function erase(target: EraseRequest['target']): Promise<void> {
  for (const _ of ['once', 'again']) await world.operator.erasers.calls.erase({ target }, await world.operator.operator('acme'));
}

const count = async (from: string) => (await database.query<{ n: number }>(`select count(*)::int as n from calls.${from}`))[0]!.n;
const rollup = () =>
  database.query(`select day::text, calls from calls.call_days where organization = 'acme' and calls > 0 order by 1`);

describe('erasing', () => {
  it('a project erases its calls, their notes, and their share of the rollup', async () => {
    await erase({ $case: 'projectId', value: PROJECT });
    const calls = await database.query(`select call_id as id from calls.calls where organization = 'acme' order by 1`);
    expect(calls).toEqual([{ id: 'call-1' }, { id: 'call-3' }, { id: 'call-5' }]);
    expect(await count(`notes where organization = 'acme'`)).toBe(6);
    expect(await rollup()).toEqual([
      { day: '2025-03-01', calls: 1 },
      { day: '2025-03-02', calls: 1 },
      { day: '2025-03-03', calls: 1 },
    ]);
  });

  it('a user erases only the notes of the user; the calls stay without the user, unchanged for REST', async () => {
    const rows = () =>
      database.query<{ id: string; updated_at: Date }>(
        `select call_id as id, updated_at from calls.calls where organization = 'acme' order by 1`,
      );
    const before = await rows();
    const [user] = await database.query<{ id: string }>(
      `select user_id as id from auth.users where organization = 'acme' and email = 'ann@crs.example'`,
    );
    await erase({ $case: 'userId', value: user!.id });
    expect(await rows()).toEqual(before);
    expect(await count(`notes where organization = 'acme'`)).toBe(5);
    expect(await count(`notes where user_id = '${user!.id}'`)).toBe(0);
    expect(await count(`calls where organization = 'acme' and conducted_by is null`)).toBe(2);
    expect(await count(`calls where organization = 'acme' and conducted_by is not null`)).toBe(3);

    // Auth still knows the user, so the same lines restore the notes.
    expect(await store('acme')).toMatchObject({ accepted: 5, unchanged: 0 });
    expect(await count(`notes where organization = 'acme'`)).toBe(10);
  });

  it('an organization erases all of its rows and none of another', async () => {
    const left = async () => {
      const counts: Record<string, unknown> = {};
      for (const table of TABLES) {
        counts[table] = await database.query(`select organization, count(*)::int from calls.${table} group by 1 order by 1`);
      }
      return counts;
    };
    const before = await left();
    await erase({ $case: 'organization', value: true });
    const ofOthers = Object.entries(before).map(([table, rows]) => [
      table,
      (rows as { organization: string }[]).filter((it) => it.organization !== 'acme'),
    ]);
    expect(await left()).toEqual(Object.fromEntries(ofOthers));
  });

  it('an organization erases its anonymized names: a new organization of that id gets new names, the same from every instance', async () => {
    const detail = async () => (await world.rest('/v1/calls/call-1', { key })).json.interviewee.name as string;
    const before = await detail();
    expect(before).toMatch(/^Expert /);
    await erase({ $case: 'organization', value: true });
    await store('acme');
    const after = await detail();
    expect(after).toMatch(/^Expert /);
    expect(after).not.toBe(before);
    const another = await startAnother(world);
    try {
      expect(await shownName(world, another.address, key, 'call-1')).toBe(after);
    } finally {
      await another.stop();
    }
  });
});

describe('erasing an organization with many calls', () => {
  const ORGANIZATION = { target: { $case: 'organization', value: true } } as const;
  const eraseOnce = async () => world.operator.erasers.calls.erase(ORGANIZATION, await world.operator.operator('acme'));
  const fill = (calls: number) =>
    database.query(
      `insert into calls.calls (organization, call_id, call_type, created_at, updated_at, list_item_json, detail_json, detail_hash, record_hash)
        select 'acme', 'many-' || n, 'interview', now(), now(), '', '', '', '' from generate_series(1, $1::int) n`,
      [calls - 5],
    );
  const left = () => count(`calls where organization = 'acme'`);

  /** Erases while `before` may change each statement that deletes calls. @returns the number of these statements */
  async function eraseWith(before: (text: string, nth: number) => string): Promise<{ statements: number; answer: unknown }> {
    let statements = 0;
    const stop = interceptStatements((statement) =>
      statement.name === 'erase_all_calls'
        ? { ...statement, name: `${statement.name}_${++statements}`, text: before(statement.text, statements) }
        : statement,
    );
    try {
      const answer = await eraseOnce().catch((error: unknown) => error);
      return { statements, answer };
    } finally {
      stop();
    }
  }

  it.each([
    [1_000, 2],
    [1_001, 3],
  ])('deletes %d calls by %d statements, the last of which finds nothing', async (calls, statements) => {
    await fill(calls);
    expect(await eraseWith((text) => text)).toEqual({ statements, answer: { more: false } });
    expect(await left()).toBe(0);
  });

  it('keeps what it has done where it is interrupted, and goes on from there', async () => {
    await fill(2_500);
    const { answer } = await eraseWith((text, nth) => (nth === 2 ? 'select 1 / 0' : text));
    expect(answer).toMatchObject({ kind: 'internal' });
    expect(await left()).toBe(1_500);
    expect(await eraseOnce()).toEqual({ more: false });
    expect(await left()).toBe(0);
  });

  it('answers after some seconds that more is left; a batch of another organization goes on meanwhile', async () => {
    await fill(1_500);
    const erasing = eraseWith((text, nth) =>
      nth === 1 ? text.replace('from gone)', 'from gone where (select pg_sleep(5.2)) is not null)') : text,
    );
    const started = performance.now();
    expect(
      await sendBatch(world, 'globex', [callLine('globex', 'beside', { created_at: '2025-03-01T10:00:00Z' })]),
    ).toMatchObject({
      refused: [],
    });
    expect(performance.now() - started).toBeLessThan(4_000);
    expect((await erasing).answer).toEqual({ more: true });
    expect(await left()).toBe(500);
    expect(await erase(ORGANIZATION.target)).toBeUndefined();
    expect(await left()).toBe(0);
    await database.query(`delete from calls.calls where organization = 'globex' and call_id = 'beside'`);
  });
});
