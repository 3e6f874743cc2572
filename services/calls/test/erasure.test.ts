import type { EraseRequest } from '@crs/proto/crs/erasures/v1/erasures';
import { lockWaiter } from '@crs/testing/hold';
import { startInstance } from '@crs/testing/instance';
import { interceptStatements } from '@crs/testing/intercept-statements';
import { openSession } from '@crs/testing/sql';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { shownName } from './_clients.ts';
import { callLine, PROJECT, sendBatch, tenantRecords } from './_records.ts';

const TABLES = ['calls', 'notes', 'call_days', 'name_secrets', 'retention', 'holds', 'held_calls', 'changes', 'feeds'];
const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];

let world: World;
let key: string;

beforeAll(async () => {
  world = await sharedWorld();
  await world.load([...tenantRecords(ACME, { anonymize_interviewees: true }), ...tenantRecords(GLOBEX)]);
  key = await world.createKey(ACME);
  await store(GLOBEX);
});
beforeEach(() => store(ACME));

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
  for (const _ of ['once', 'again']) await world.operator.erasers.calls.erase({ target }, await world.operator.operator(ACME));
}

/** Rows of acme. */
const rowsOf = async (select: string) => (await world.query(`${select} where organization = $1 order by 1`, [ACME])).rows;
const count = async (from: string, condition = 'true'): Promise<number> => {
  const text = `select count(*)::int as n from calls.${from} where organization = $1 and ${condition}`;
  return (await world.query(text, [ACME])).rows[0].n;
};

describe('erasing', () => {
  it('a project erases its calls and their notes, and subtracts the calls from the rollup', async () => {
    await erase({ $case: 'projectId', value: PROJECT });
    const calls = await rowsOf('select call_id as id from calls.calls');
    expect(calls).toEqual([{ id: 'call-1' }, { id: 'call-3' }, { id: 'call-5' }]);
    expect(await count('notes')).toBe(6);
    expect(await rowsOf('select day::text, calls from calls.call_days')).toEqual([
      { day: '2025-03-01', calls: 1 },
      { day: '2025-03-02', calls: 1 },
      { day: '2025-03-03', calls: 1 },
    ]);
  });

  it('a user erases only their notes; the calls that they conducted lose the reference and stay unchanged for REST', async () => {
    const calls = () => rowsOf('select call_id as id, updated_at from calls.calls');
    const before = await calls();
    const [{ id: ann }] = await rowsOf('select email, user_id as id from auth.users');
    await erase({ $case: 'userId', value: ann });
    expect(await calls()).toEqual(before);
    expect(await count('notes')).toBe(5);
    expect(await count('notes', `user_id = '${ann}'`)).toBe(0);
    expect(await count('calls', 'conducted_by is null')).toBe(2);
    expect(await count('calls', 'conducted_by is not null')).toBe(3);

    // Auth still knows the user, so the same lines restore the notes.
    expect(await store(ACME)).toMatchObject({ accepted: 5, unchanged: 0 });
    expect(await count('notes')).toBe(10);
  });

  it('an organization erases all of its rows, and none of another organization', async () => {
    const left = async () => {
      const counts = TABLES.map(
        (table) => `select '${table}' as name, organization, count(*)::int from calls.${table} group by 2`,
      );
      return (await world.query(`${counts.join(' union all ')} order by 1, 2`)).rows;
    };
    const before = await left();
    await erase({ $case: 'organization', value: true });
    expect(await left()).toEqual(before.filter(({ organization }) => organization !== ACME));
  });

  it('an organization erases its secret for anonymized names: a new organization with that id gets other names, the same from every instance', async () => {
    const detail = async () => (await world.rest('/v1/calls/call-1', { key })).json.interviewee.name as string;
    const before = await detail();
    expect(before).toMatch(/^Expert /);
    await erase({ $case: 'organization', value: true });
    await store(ACME);
    const after = await detail();
    expect(after).toMatch(/^Expert /);
    expect(after).not.toBe(before);
    const another = await startInstance(world, 'calls');
    try {
      expect(await shownName(world, another.address, key, 'call-1')).toBe(after);
    } finally {
      await another.stop();
    }
  });
});

describe('erasing an organization with many calls', () => {
  const ORGANIZATION = { target: { $case: 'organization', value: true } } as const;
  const eraseOnce = async () => world.operator.erasers.calls.erase(ORGANIZATION, await world.operator.operator(ACME));
  const fill = (calls: number) =>
    world.query(
      `insert into calls.calls (organization, call_id, call_type, created_at, updated_at, list_item_json, detail_json, detail_hash, record_hash)
        select $1, 'many-' || n, 'interview', now(), now(), '', '', '', '' from generate_series(1, $2::int) n`,
      [ACME, calls - 5],
    );

  /** Erases the organization. `before` may replace the text of each statement that deletes calls, counted from 1. */
  async function eraseWith(before: (text: string, nth: number) => string): Promise<{ statements: number; response: unknown }> {
    let statements = 0;
    const stop = interceptStatements((statement) =>
      statement.name === 'erase_all_calls'
        ? { ...statement, name: `${statement.name}_${++statements}`, text: before(statement.text, statements) }
        : statement,
    );
    try {
      const response = await eraseOnce().catch((error: unknown) => error);
      return { statements, response };
    } finally {
      stop();
    }
  }

  it.each([
    [1_000, 2],
    [1_001, 3],
  ])('deletes %d calls with %d statements: batches of at most 1,000, until one finds no call', async (calls, statements) => {
    await fill(calls);
    expect(await eraseWith((text) => text)).toEqual({ statements, response: { more: false } });
    expect(await count('calls')).toBe(0);
  });

  it('keeps the deletions of finished batches when it fails, and the next request continues from there', async () => {
    await fill(2_500);
    const { response } = await eraseWith((text, nth) => (nth === 2 ? 'select 1 / 0' : text));
    expect(response).toMatchObject({ kind: 'internal' });
    expect(await count('calls')).toBe(1_500);
    expect(await eraseOnce()).toEqual({ more: false });
    expect(await count('calls')).toBe(0);
  });

  it('reports after five seconds that more is left, and the next request continues', async () => {
    await fill(1_500);
    const now = performance.now.bind(performance);
    const clock = vi.spyOn(performance, 'now');
    const { response } = await eraseWith((text, nth) => {
      if (nth === 1) clock.mockImplementation(() => now() + 5_000);
      return text;
    }).finally(() => clock.mockRestore());
    expect(response).toEqual({ more: true });
    expect(await count('calls')).toBe(500);
    expect(await eraseOnce()).toEqual({ more: false });
    expect(await count('calls')).toBe(0);
  });

  it('does not delay an import of another organization', async () => {
    const holder = await openSession(world.databaseUrl);
    try {
      await holder.query('begin');
      await holder.query('select from calls.calls where organization = $1 for update', [ACME]);
      const erasing = eraseOnce();
      await lockWaiter(world.databaseUrl, 'crs-calls-import');
      expect(await sendBatch(world, GLOBEX, [{ ...call(GLOBEX, 1), rating: 5 }])).toMatchObject({ accepted: 1 });
      await holder.query('commit');
      expect(await erasing).toEqual({ more: false });
    } finally {
      await holder.close();
    }
  });
});
