import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { runCrs } from '@crs/testing/run-crs';
import { interceptStatements } from '@crs/testing/intercept-statements';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { holdsOf, storedCalls } from './_holds.ts';
import { runRetention, setRetention } from './_retention.ts';
import { callLine, PROJECT, sendBatch, tenantRecords } from './_records.ts';

const DAY_MS = 86_400_000;
const ago = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString();

let world: World;
let acme: string;
let globex: string;
beforeAll(async () => {
  world = await sharedWorld();
});
/** Two organizations with the same calls: of long ago, of lately, and one that was created long ago for a date to come. */
beforeEach(async () => {
  [acme, globex] = [tenant('acme'), tenant('globex')];
  for (const id of [acme, globex]) {
    await world.load(tenantRecords(id));
    const lines = [
      callLine(id, 'old-1', { created_at: ago(100), project_id: PROJECT, notes: [{ email: 'ann@crs.example', text: 'x' }] }),
      callLine(id, 'old-2', { created_at: ago(91) }),
      callLine(id, 'old-date', { created_at: ago(1), date: ago(91) }),
      callLine(id, 'young', { created_at: ago(89) }),
      callLine(id, 'young-date', { created_at: ago(100), date: ago(-1) }),
    ];
    expect((await sendBatch(world, id, lines)).refused).toEqual([]);
  }
});

const BY_DATE = ['old-1', 'old-2', 'old-date'];
const set = (settings: Parameters<typeof setRetention>[2], id = acme) => setRetention(world, id, settings);
const run = (id = acme) => runRetention(world, id);
/** Counts, so that the next run deletes. */
const setAndCount = async (settings: Parameters<typeof setRetention>[2]) => {
  await set(settings);
  return run();
};
const left = (id = acme) => storedCalls(world, id);
const ALL = [...BY_DATE, 'young', 'young-date'];

describe('retention', () => {
  it('deletes nothing of an organization without a period', async () => {
    expect(await run()).toEqual({ due: 0, deleted: 0 });
    expect(await left()).toEqual(ALL);
  });

  it.each([
    ['90d', 'date', BY_DATE],
    ['90d', 'created', ['old-1', 'old-2', 'young-date']],
    ['95d', 'date', ['old-1']],
    ['1y', 'date', []],
  ] as const)(
    'of %s by %s deletes the older calls of its organization, after a run that only counts',
    async (retainCalls, retainBy, due) => {
      expect(await setAndCount({ retainCalls, retainBy })).toEqual({ due: due.length, deleted: 0 });
      expect(await left()).toEqual(ALL);
      expect(await run()).toEqual({ due: due.length, deleted: due.length });
      expect(await left()).toEqual(ALL.filter((id) => !(due as readonly string[]).includes(id)));
      expect(await run()).toEqual({ due: 0, deleted: 0 });
      expect(await left(globex)).toEqual(ALL);
    },
  );

  it('counts again, and deletes nothing, in the first run after each change', async () => {
    await setAndCount({ retainCalls: '95d', retainPerDay: 1 });
    for (const change of [{ retainCalls: '90d' }, { retainBy: 'created' }, { retainPerDay: 9 }, { retainCalls: 'none' }]) {
      await set(change);
      if (change.retainCalls === 'none') await set({ retainCalls: '90d' });
      expect(await run()).toEqual({ due: 3, deleted: 0 });
    }
    await set({ retainPerDay: 9, retainCalls: '90d' });
    expect(await run()).toEqual({ due: 3, deleted: 3 });
  });

  it('deletes at most as many calls in a day as the organization says', async () => {
    await setAndCount({ retainCalls: '90d', retainPerDay: 2 });
    expect(await run()).toEqual({ due: 3, deleted: 2 });
    expect(await run()).toEqual({ due: 1, deleted: 0 });
    await world.query(`update calls.retention set day = day - 1 where organization = $1`, [acme]);
    expect(await run()).toEqual({ due: 1, deleted: 1 });
  });

  it('skips held calls, which are due again once they are released', async () => {
    const holds = holdsOf(world, acme);
    const ids = [await holds.create({ callIds: ['old-2'] }), await holds.create({ projectId: PROJECT })];
    expect(await setAndCount({ retainCalls: '90d' })).toEqual({ due: 1, deleted: 0 });
    expect(await run()).toEqual({ due: 1, deleted: 1 });
    for (const id of ids) await holds.release(id);
    expect(await run()).toEqual({ due: 2, deleted: 2 });
  });

  it('tells followers of changes, keeps totals exact, and leaves no note behind', async () => {
    await setAndCount({ retainCalls: '90d' });
    const key = await world.createKey(acme);
    const { next_cursor: cursor } = (await world.rest('/v1/changes', { key })).json;
    await run();
    const { data } = (await world.rest(`/v1/changes?cursor=${cursor}`, { key })).json;
    expect(data.map(({ type, call_id: id }: Record<string, string>) => `${type} ${id}`).toSorted()).toEqual(
      BY_DATE.map((id) => `call.deleted ${id}`),
    );
    const list = '/v1/calls?start_date=2000-01-01T00:00:00Z&end_date=2100-01-01T00:00:00Z';
    expect((await world.rest(list, { key })).json.pagination.total_items).toBe(2);
    expect((await world.query('select 1 from calls.notes where organization = $1', [acme])).rows).toEqual([]);
  });

  it('that is interrupted between two steps has not counted, and the next run begins again', async () => {
    await fill(5_000);
    await set({ retainCalls: '90d' });
    const failing = async (nth: number) => {
      let steps = 0;
      const stop = interceptStatements((statement) =>
        statement.name === 'next_calls_by_date' && ++steps === nth
          ? { ...statement, name: 'failing', text: 'select 1 / 0', values: [] }
          : statement,
      );
      await expect(run()).rejects.toMatchObject({ kind: 'internal' });
      stop();
    };
    await failing(2);
    expect(await run()).toEqual({ due: 3, deleted: 0 });
    await failing(2);
    expect(await left()).toHaveLength(5_005);
    expect(await run()).toEqual({ due: 3, deleted: 3 });
  });

  it('deletes at most 1,000 calls in a transaction, and all of them in a run', async () => {
    await fill(2_500, 100);
    await setAndCount({ retainCalls: '95d' });
    const sizes: number[] = [];
    const stop = interceptStatements((statement) => {
      if (statement.name === 'delete_calls') sizes.push((statement.values![1] as string[]).length);
      return statement;
    });
    expect(await run()).toEqual({ due: 2_501, deleted: 2_501 });
    stop();
    expect(sizes).toEqual([1_000, 1_000, 501]);
    expect(await left()).toHaveLength(4);
  });

  it('has not counted under settings that changed while it ran', async () => {
    await fill(5_000);
    await set({ retainCalls: '95d' });
    const place = `${Date.now() - DAY_MS} a-1`;
    expect(await world.operator.calls.runRetention({ after: place }, await world.operator.operator(acme))).toMatchObject({
      next: '',
    });
    expect(await run()).toEqual({ due: 1, deleted: 0 });
  });
});

/** Stores calls by SQL, with ids before the others. */
async function fill(calls: number, age = 0): Promise<void> {
  await world.query(
    `insert into calls.calls (organization, call_id, call_type, created_at, updated_at, list_item_json, detail_json, detail_hash, record_hash)
      select $1, 'a-' || n, 'interview', now() - make_interval(days => $3), now(), '', '', '', '' from generate_series(1, $2::int) n`,
    [acme, calls, age],
  );
  await world.query(
    `insert into calls.call_days select organization, (created_at at time zone 'UTC')::date, count(*) from calls.calls
      where organization = $1 group by 1, 2 on conflict (organization, day) do update set calls = excluded.calls`,
    [acme],
  );
}

describe('crs retention run', () => {
  it('runs for each organization that has a period, and shows it and audits it', async () => {
    const crs = async (...args: string[]) => {
      const { stdout, stderr, status } = await runCrs(world, [...args, '--json']);
      expect([status, stderr]).toEqual([0, '']);
      return JSON.parse(stdout);
    };
    const shown = await crs('org', 'update', acme, '--retain-calls', '90d', '--retain-by', 'created', '--retain-per-day', '5');
    expect(shown).toMatchObject({ retain_calls: '90d', retain_by: 'created', retain_per_day: 5 });
    const rowOf = async () => {
      const { data } = (await crs('retention', 'run')) as { data: { organization: string }[] };
      expect(data.map(({ organization }) => organization)).not.toContain(globex);
      return data.find(({ organization }) => organization === acme);
    };
    expect(await rowOf()).toEqual({ organization: acme, due: 3, deleted: 0 });
    expect(await rowOf()).toEqual({ organization: acme, due: 3, deleted: 3 });
    const actions = (await crs('audit', '--org', acme)).data.map(({ action, target }: Record<string, string>) => [
      action,
      target,
    ]);
    expect(actions).toContainEqual(['retention.run', '90d created']);
    expect(actions).toContainEqual(['retention.delete', expect.stringMatching(/^3 calls before \d{4}-/)]);
    const { status, stderr } = await runCrs(world, ['org', 'update', acme, '--retain-calls', '3m']);
    expect([status, stderr]).toEqual([2, expect.stringContaining('like 3y or 90d')]);
  });
});
