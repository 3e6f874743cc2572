import { erase } from '@crs/testing/erase';
import { sharedWorld, type World } from '@crs/testing/world';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ANN, BOB, deletion, fillForHolds, holdsOf, OTHER_PROJECT, storedCalls } from './_holds.ts';
import { callLine, PROJECT, sendBatch } from './_records.ts';

const UNKNOWN = '00000000-0000-4000-8000-0000000000ff';
const ALL = ['alone', 'elsewhere', 'in-project', 'noted'];

let world: World;
/** Each test has two new organizations. The second one has no holds. */
let acme: string;
let globex: string;
let holds: ReturnType<typeof holdsOf>;

beforeAll(async () => {
  world = await sharedWorld();
});
beforeEach(async () => {
  acme = await fillForHolds(world, 'acme');
  globex = await fillForHolds(world, 'globex');
  holds = holdsOf(world, acme);
});

const keeps = (holdId: string) => `the legal hold ${holdId} keeps the call`;
const line = (id: string, fields: object) => callLine(acme, id, fields);

describe('a line that deletes', () => {
  it.each([{ projectId: PROJECT }, { callIds: ['in-project', 'noted'] }])('a call held by %j is refused', async (kept) => {
    const holdId = await holds.create(kept);
    const lines = ['in-project', 'alone', 'noted'].map((id) => deletion(acme, 'call', id));
    const refused = [1, 3].map((number) => `${number}: deleted: must not be true: ${keeps(holdId)}`);
    expect(await world.tryLoad(lines)).toEqual({ accepted: 1, unchanged: 0, refused });
    expect(await storedCalls(world, acme)).toEqual(['elsewhere', 'in-project', 'noted']);
    expect((await world.tryLoad(['in-project', 'noted'].map((id) => deletion(globex, 'call', id)))).refused).toEqual([]);
    await holds.release(holdId);
    expect(await world.tryLoad(lines)).toEqual({ accepted: 2, unchanged: 1, refused: [] });
  });

  it('a call that an earlier line of the batch moved into a held project is refused', async () => {
    const holdId = await holds.create({ projectId: PROJECT });
    const lines = [line('alone', { project_id: PROJECT }), line('new', { project_id: PROJECT })];
    const deletions = ['alone', 'new'].map((id) => deletion(acme, 'call', id));
    expect((await sendBatch(world, acme, [...lines, ...deletions])).refused).toEqual(
      [3, 4].map((number) => `${number}: deleted: must not be true: ${keeps(holdId)}`),
    );
    expect(await storedCalls(world, acme)).toEqual(['alone', 'elsewhere', 'in-project', 'new', 'noted']);
  });
});

describe('a line that moves a held call', () => {
  it.each([null, OTHER_PROJECT])('out of its project, to %j, is refused, whether whole or a merge', async (to) => {
    for (const kept of [{ projectId: PROJECT }, { callIds: ['in-project'] }]) {
      const holdId = await holds.create(kept);
      for (const more of [{}, { merge: true }]) {
        const { refused } = await sendBatch(world, acme, [line('in-project', { project_id: to, ...more })]);
        expect(refused).toEqual([`1: project_id: must not change: ${keeps(holdId)}`]);
      }
      await holds.release(holdId);
    }
    expect((await sendBatch(world, acme, [line('in-project', { project_id: to })])).accepted).toBe(1);
  });

  it('into a project is stored, as is every other change of a held call', async () => {
    await holds.create({ callIds: ['alone', 'in-project'] });
    const lines = [line('alone', { project_id: PROJECT }), line('in-project', { project_id: PROJECT, summary: 'new' })];
    expect(await sendBatch(world, acme, [...lines, line('in-project', { merge: true, rating: 5 })])).toMatchObject({
      accepted: 3,
    });
  });
});

describe('the deletion of', () => {
  const targets = [
    ['a project that is held', { projectId: PROJECT }, 'project', PROJECT],
    ['a project with a held call', { callIds: ['noted'] }, 'project', PROJECT],
    ['the conductor of a call in a held project', { projectId: PROJECT }, 'user', ANN],
    ['the conductor of a held call', { callIds: ['in-project'] }, 'user', ANN],
    ['the writer of a note on a held call', { callIds: ['noted'] }, 'user', BOB],
    ['the writer of a note in a held project', { projectId: PROJECT }, 'user', BOB],
  ] as const;

  it.each(targets)('%s is refused, and changes nothing', async (_what, kept, type, id) => {
    const holdId = await holds.create(kept);
    const rows = async () =>
      (await world.query(`select to_jsonb(t) from auth.${type}s t where organization = $1 order by 1`, [acme])).rows;
    const before = await rows();
    const { refused } = await world.tryLoad([deletion(acme, type, id)]);
    expect(refused).toEqual([
      expect.stringMatching(new RegExp(`^1: null: The ${type} can't be deleted: the legal hold ${holdId} keeps`)),
    ]);
    const target = type === 'project' ? { $case: 'projectId' as const, value: id } : await userTarget(acme, id);
    await expect(holds.erase(target)).rejects.toMatchObject({ kind: 'failed_precondition', reason: 'LEGAL_HOLD' });
    expect(await rows()).toEqual(before);
    expect(await storedCalls(world, acme)).toEqual(ALL);
    expect(await world.tryLoad([deletion(globex, type, id)])).toMatchObject({ accepted: 1, refused: [] });
    await holds.release(holdId);
    expect(await world.tryLoad([deletion(acme, type, id)])).toMatchObject({ accepted: 1, refused: [] });
  });

  it('users and projects that no held call needs is carried out', async () => {
    await holds.create({ callIds: ['in-project', 'alone'] });
    const lines = [deletion(acme, 'user', BOB), deletion(acme, 'project', OTHER_PROJECT)];
    expect(await world.tryLoad(lines)).toEqual({ accepted: 2, unchanged: 0, refused: [] });
    expect(await storedCalls(world, acme)).toEqual(['alone', 'in-project', 'noted']);
  });

  it('the organization is refused while it has a hold', async () => {
    const holdId = await holds.create({ callIds: ['alone'] });
    const target = { $case: 'organization', value: true } as const;
    await expect(erase(world.operator, acme, target)).rejects.toMatchObject({ message: expect.stringContaining(holdId) });
    await expect(holds.erase(target)).rejects.toMatchObject({ reason: 'LEGAL_HOLD' });
    expect(await storedCalls(world, acme)).toEqual(ALL);
    expect(await erase(world.operator, globex, target)).toBe(true);
    await holds.release(holdId);
    expect(await erase(world.operator, acme, target)).toBe(true);
  });
});

async function userTarget(organization: string, email: string) {
  const text = 'select user_id as id from auth.users where organization = $1 and email = $2';
  return { $case: 'userId', value: (await world.query(text, [organization, email])).rows[0].id as string } as const;
}

describe('a hold', () => {
  it('of calls can not be deleted around by any statement of the database', async () => {
    await holds.create({ callIds: ['alone'] });
    await expect(world.query('delete from calls.calls where organization = $1', [acme])).rejects.toMatchObject({ code: '23503' });
  });

  it.each([
    ['must be a project of this organization', { projectId: UNKNOWN }],
    ['must be a UUID', { projectId: 'alpha' }],
    ['must be ids of stored calls; unknown: b, c, d and 1 more', { callIds: ['alone', 'b', 'c', 'd', 'e'] }],
    ['must be 1 to 50000 ids of calls', {}],
    ['must be empty: the hold keeps a project', { projectId: PROJECT, callIds: ['alone'] }],
  ])('is refused: %s', async (problem, kept) => {
    await expect(holds.create(kept)).rejects.toMatchObject({
      kind: 'invalid_argument',
      message: expect.stringContaining(problem),
    });
    expect(await holds.list()).toEqual([]);
  });

  it.each([
    ['project', { $case: 'projectId', value: PROJECT }],
    ['user', { $case: 'email', value: ANN }],
    ['organization', { $case: 'organization', value: true }],
  ] as const)('is refused while the %s of a call is being deleted', async (what, target) => {
    const stop = new Error('stop');
    const begun = erase(world.operator, acme, target, (step) => {
      if (step === 'calls') throw stop;
    });
    await expect(begun).rejects.toBe(stop);
    const message = what === 'organization' ? 'There is no organization with this id.' : `a ${what} of theirs is being deleted`;
    await expect(holds.create({ callIds: ['in-project'] })).rejects.toMatchObject({ message: expect.stringContaining(message) });
    expect(await erase(world.operator, acme, target)).toBe(true);
    expect(await holdsOf(world, globex).create({ projectId: PROJECT })).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('is released once, by its own organization alone', async () => {
    const holdId = await holds.create({ projectId: PROJECT });
    await expect(holdsOf(world, globex).release(holdId)).rejects.toMatchObject({ kind: 'not_found' });
    expect((await holds.list()).map((hold) => hold.holdId)).toEqual([holdId]);
    await holds.release(holdId);
    await expect(holds.release(holdId)).rejects.toMatchObject({ kind: 'not_found' });
  });

  it('keeps a call until the last of its holds is released', async () => {
    const all = [
      await holds.create({ callIds: ['in-project'] }),
      await holds.create({ callIds: ['in-project'] }),
      await holds.create({ projectId: PROJECT }),
    ];
    for (const holdId of all) {
      expect((await world.tryLoad([deletion(acme, 'call', 'in-project')])).refused).toHaveLength(1);
      await holds.release(holdId);
    }
    expect(await world.tryLoad([deletion(acme, 'call', 'in-project')])).toMatchObject({ accepted: 1 });
  });
});
