import { erase } from '@crs/testing/erase';
import { whileHeld, type Hold } from '@crs/testing/hold';
import { startWorld, type OwnWorld } from '@crs/testing/world';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ANN, deletion, fillForHolds, holdsOf, OTHER_PROJECT, storedCalls } from './_holds.ts';
import { callLine, PROJECT } from './_records.ts';
import { runRetention, setRetention } from './_retention.ts';

let world: OwnWorld;
let acme: string;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.close());
beforeEach(async () => {
  acme = await fillForHolds(world, 'acme');
  // The same ids, without holds.
  await fillForHolds(world, 'globex');
});

/** Resolves once this many transactions of imports, deletions and holds wait for a lock. */
async function waiting(count: number): Promise<void> {
  const text = `select count(*)::int as n from pg_stat_activity
    where datname = current_database() and application_name = 'crs-calls-import' and wait_event_type = 'Lock'`;
  await expect.poll(async () => (await world.query(text)).rows[0].n, { timeout: 20_000, interval: 10 }).toBe(count);
}

/** Starts `first`, and `second` once the first one is blocked at a table. @returns their results, or the messages of their errors */
async function race(blocked: Hold, waiters: number, first: () => Promise<unknown>, second: () => Promise<unknown>) {
  const outcomeOf = (work: () => Promise<unknown>) => work().catch((error: Error) => error.message);
  let later: Promise<unknown> | undefined;
  const { earlier } = await whileHeld(
    world.databaseUrl,
    blocked,
    () => ({ earlier: outcomeOf(first) }),
    async () => {
      later = outcomeOf(second);
      await waiting(waiters);
    },
  );
  return [await earlier, await later];
}

const ways = {
  'a line that deletes a held call': () => world.tryLoad([deletion(acme, 'call', 'in-project')]),
  'a line that moves a held call': () => world.tryLoad([callLine(acme, 'in-project', { project_id: OTHER_PROJECT })]),
  'the deletion of its project': () => world.tryLoad([deletion(acme, 'project', PROJECT)]),
  'the deletion of its conductor': () => world.tryLoad([deletion(acme, 'user', ANN)]),
};
const organization = { $case: 'organization', value: true } as const;
const projectOf = async () =>
  (await world.query('select erasing_at from auth.projects where organization = $1 and project_id = $2', [acme, PROJECT])).rows;

describe('a hold that is being created when', () => {
  it.each(Object.entries(ways))('%s comes is there first, and refuses it', async (_way, send) => {
    const [holdId, result] = await race(
      { table: 'calls.holds', at: 'statement', by: 'crs-calls-import' },
      2,
      () => holdsOf(world, acme).create({ callIds: ['in-project'] }),
      send,
    );
    expect(result).toEqual({ accepted: 0, unchanged: 0, refused: [expect.stringContaining(String(holdId))] });
    expect(await storedCalls(world, acme)).toContain('in-project');
    expect(await projectOf()).toEqual([{ erasing_at: null }]);
  });

  it('the deletion of the organization comes is there first, and refuses it', async () => {
    const [holdId, result] = await race(
      { table: 'calls.holds', at: 'statement', by: 'crs-calls-import' },
      2,
      () => holdsOf(world, acme).create({ projectId: PROJECT }),
      () => erase(world.operator, acme, organization),
    );
    expect(result).toContain(holdId);
    expect(await storedCalls(world, acme)).toHaveLength(4);
  });
});

describe('retention', () => {
  const blocked = (table: string): Hold => ({ table, at: 'statement', by: 'crs-calls-import' });
  const hold = () => holdsOf(world, acme).create({ callIds: ['alone'] });
  const run = () => runRetention(world, acme);
  beforeEach(async () => {
    const line = callLine(acme, 'alone', { created_at: '2020-01-01T00:00:00Z' });
    expect((await world.tryLoad([line])).accepted).toBe(1);
    await setRetention(world, acme, { retainCalls: '1y' });
    expect(await run()).toEqual({ due: 1, deleted: 0 });
  });

  it('skips a call whose hold is being created', async () => {
    const [, result] = await race(blocked('calls.holds'), 2, hold, run);
    expect(result).toEqual({ due: 0, deleted: 0 });
    expect(await storedCalls(world, acme)).toContain('alone');
  });

  it('deletes a call whose hold comes meanwhile, and the hold is refused', async () => {
    const [result, refusal] = await race(blocked('calls.call_days'), 2, run, hold);
    expect([result, refusal]).toEqual([{ due: 1, deleted: 1 }, expect.stringContaining('unknown: alone')]);
  });
});

describe('a hold that is created while', () => {
  it.each([
    [
      'a line deletes its call',
      'calls.call_days',
      'crs-calls-import',
      ways['a line that deletes a held call'],
      /unknown: in-project/,
    ],
    [
      'its project is marked',
      'auth.projects',
      'crs-auth',
      ways['the deletion of its project'],
      /a project of theirs is being deleted|unknown: in-project/,
    ],
    [
      'its conductor is marked',
      'auth.users',
      'crs-auth',
      ways['the deletion of its conductor'],
      /a user of theirs is being deleted|^[0-9a-f-]{36}$/,
    ],
  ])('%s comes second', async (_way, table, by, send, problem) => {
    const waiters = by === 'crs-auth' ? 1 : 2;
    const [deleted, result] = await race({ table, at: 'statement', by }, waiters, send, () =>
      holdsOf(world, acme).create({ callIds: ['in-project'] }),
    );
    expect(deleted).toMatchObject({ accepted: 1, refused: [] });
    expect(result).toMatch(problem);
  });

  it('the organization is marked comes second, and is refused', async () => {
    const [deleted, result] = await race(
      { table: 'auth.organizations', at: 'statement', by: 'crs-auth' },
      1,
      () => erase(world.operator, acme, organization),
      () => holdsOf(world, acme).create({ callIds: ['in-project'] }),
    );
    expect([deleted, result]).toEqual([true, expect.stringMatching(/no organization|unknown/)]);
  });
});
