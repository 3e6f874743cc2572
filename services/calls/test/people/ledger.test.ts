import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { erase as eraseTarget } from '@crs/testing/erase';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sendBatch, tenantRecords } from '../_records.ts';
import { crs, EMAIL, linesOf, MENTIONED, NAME, NAMED, traces } from './_people.ts';
import { backUp } from './_restore.ts';

const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];
const mentioned = Object.keys(MENTIONED).map((_, i) => `text-${i}`);
const everything = Object.keys(NAMED).length + mentioned.length;

let world: World;
let directory: string;
beforeAll(async () => {
  world = await sharedWorld();
  directory = await mkdtemp(join(tmpdir(), 'ledger-'));
  await world.load([...tenantRecords(ACME), ...tenantRecords(GLOBEX)]);
  await sendBatch(world, GLOBEX, linesOf(GLOBEX));
});
beforeEach(() => sendBatch(world, ACME, linesOf(ACME)));

const erase = async (...args: string[]) => (await crs(world, 'person', 'erase', '--org', ACME, '--yes', ...args)).json;
const list = async (...args: string[]) => (await crs(world, 'erasures', '--org', ACME, ...args)).json.data;
const entryOf = async (id: string) => (await list()).find((each: { erasure_id: string }) => each.erasure_id === id);

/** Writes the ledger to a new file. */
async function keep(name: string, data: object[]): Promise<string> {
  const file = join(directory, name);
  await writeFile(file, JSON.stringify({ data }));
  return file;
}

describe('crs erasures', () => {
  it('lists who erased when, with digests under a salt of its own, and neither the person nor ids of calls', async () => {
    const [first, second] = [await erase('--name', NAME, '--employer', 'Canary Works'), await erase('--email', 'x@crs.example')];
    const [entry, other] = [await entryOf(first.erasure_id), await entryOf(second.erasure_id)];
    const digest = expect.stringMatching(/^[0-9a-f]{32}$/);
    expect(entry).toEqual({
      organization: ACME,
      erasure_id: first.erasure_id,
      at: expect.stringMatching(/Z$/),
      by: expect.any(String),
      kind: 'person',
      count: Object.keys(NAMED).length,
      held: 0,
      completed_at: expect.stringMatching(/Z$/),
      salt: digest,
      email: null,
      names: [digest],
      employer: digest,
      calls: Object.keys(NAMED).map(() => digest),
      held_calls: [],
    });
    expect(other).toMatchObject({ count: 0, email: digest, names: [], employer: null, calls: [] });
    expect(other.salt).not.toBe(entry.salt);
    expect(JSON.stringify([entry, other])).not.toMatch(/canary|named-|text-/i);
  });

  it('lists those since a time, of one organization', async () => {
    const { erasure_id: id } = await erase('--name', NAME);
    const { at } = await entryOf(id);
    expect((await list('--since', at)).map((each: { erasure_id: string }) => each.erasure_id)).toEqual([id]);
    expect(await list('--since', '2999-01-01T00:00:00Z')).toEqual([]);
    expect((await crs(world, 'erasures', '--org', GLOBEX)).json).toEqual({ data: [] });
  });

  it('keeps the entries of its file that the database has lost', async () => {
    const restore = await backUp(world, ACME);
    const { erasure_id: lost } = await erase('--name', NAME);
    const file = join(directory, 'kept.json');
    expect((await crs(world, 'erasures', '--to', file)).status).toBe(0);
    await restore();
    const { erasure_id: later } = await erase('--email', EMAIL);
    await crs(world, 'erasures', '--org', ACME, '--to', file);
    const ids = JSON.parse(await readFile(file, 'utf8')).data.map((each: { erasure_id: string }) => each.erasure_id);
    expect(ids).toContain(lost);
    expect(ids).toContain(later);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('crs erasures replay', () => {
  it.each([
    ['a name', ['--name', NAME], mentioned],
    ['a name and an employer', ['--name', NAME, '--employer', 'Canary Works'], mentioned],
    ['a name, with --calls', ['--name', NAME, '--calls'], []],
  ])('erases again what was erased by %s, after an older backup was restored', async (_, person, left) => {
    const restore = await backUp(world, ACME);
    const { erasure_id: id, ...counts } = await erase(...person);
    const before = await entryOf(id);
    const file = await keep(`${id}.json`, [before]);
    expect(await traces(world, ACME)).toEqual(left);
    await restore();
    expect((await traces(world, ACME)).length).toBe(everything);
    expect(await entryOf(id)).toBeUndefined();

    const replayed = await crs(world, 'erasures', 'replay', file);
    expect(replayed).toMatchObject({ status: 0, json: { data: [{ organization: ACME, erasure_id: id, ...counts }] } });
    expect(await traces(world, ACME)).toEqual(left);
    expect(await entryOf(id)).toEqual({ ...before, completed_at: expect.any(String) });
    expect((await traces(world, GLOBEX)).length).toBe(everything);

    const [again] = (await crs(world, 'erasures', 'replay', file, '--org', ACME)).json.data;
    expect(again).toMatchObject({ erasure_id: id, changed: 0, deleted: 0 });
    expect(await entryOf(id)).toMatchObject({ count: before.count, calls: before.calls });
  });

  it('erases by an e-mail again, also from calls that the ledger does not know', async () => {
    const restore = await backUp(world, ACME);
    const { erasure_id: id } = await erase('--email', EMAIL);
    const file = await keep('email.json', [{ ...(await entryOf(id)), calls: [] }]);
    await restore();
    expect((await crs(world, 'erasures', 'replay', file)).json.data).toMatchObject([{ changed: 1 }]);
    expect((await crs(world, 'person', 'find', '--org', ACME, '--email', EMAIL)).json.data).toEqual([]);
  });

  it('leaves out what --org and --since exclude, and fails for an unknown organization', async () => {
    const { erasure_id: id } = await erase('--name', NAME);
    const entry = await entryOf(id);
    const file = await keep('selected.json', [entry, { ...entry, organization: tenant('unknown') }]);
    expect((await crs(world, 'erasures', 'replay', file, '--org', GLOBEX)).json).toEqual({ data: [] });
    expect((await crs(world, 'erasures', 'replay', file, '--since', '2999-01-01T00:00:00Z')).json).toEqual({ data: [] });
    const { status, json, stderr } = await crs(world, 'erasures', 'replay', file);
    expect({ status, ids: json.data.map((each: { erasure_id: string }) => each.erasure_id) }).toEqual({ status: 1, ids: [id] });
    expect(stderr).toContain('not_found');
  });

  it('repeats an erasure that was under way at the time of the backup', async () => {
    const { erasure_id: id } = await erase('--name', NAME);
    const entry = await entryOf(id);
    const during = ['--since', entry.completed_at];
    const [before, after, open] = [
      await keep('before.json', [{ ...entry, at: '2020-01-01T00:00:00.000Z', completed_at: '2020-01-02T00:00:00.000Z' }]),
      await keep('during.json', [{ ...entry, at: '2020-01-01T00:00:00.000Z' }]),
      await keep('open.json', [{ ...entry, at: '2020-01-01T00:00:00.000Z', completed_at: null }]),
    ];
    const replayed = async (file: string) => (await crs(world, 'erasures', 'replay', file, ...during)).json.data.length;
    expect([await replayed(before), await replayed(after), await replayed(open)]).toEqual([0, 1, 1]);
  });

  it('enters no erasure for an organization that does not exist', async () => {
    const { erasure_id: id } = await erase('--name', NAME);
    const { people, operator } = world.operator;
    const { erasures } = await people.listErasures({ since: undefined, after: '' }, await operator(ACME));
    const erasure = erasures.find(({ erasureId }) => erasureId === id);
    const stranger = await operator(tenant('unknown'));
    await expect(people.restoreErasure({ erasure }, stranger)).rejects.toMatchObject({ kind: 'not_found' });
    const person = { email: '', name: NAME, employer: '' };
    await expect(people.erasePerson({ erasureId: id, person, deleteCalls: false }, stranger)).rejects.toMatchObject({
      kind: 'not_found',
    });
  });

  it.each(['no JSON', '{"data":[{}]}'])('refuses a file that is not a ledger: %s', async (text) => {
    const file = join(directory, 'bad.json');
    await writeFile(file, text);
    expect(await crs(world, 'erasures', 'replay', file)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('is not a ledger'),
    });
  });
});

it('the deletion of an organization deletes its ledger', async () => {
  const id = tenant('deleted');
  await world.load(tenantRecords(id));
  await sendBatch(world, id, linesOf(id));
  await crs(world, 'person', 'erase', '--org', id, '--name', NAME, '--yes');
  await eraseTarget(world.operator, id, { $case: 'organization', value: true });
  for (const table of ['erasures', 'erased_calls']) {
    expect((await world.query(`select from calls.${table} where organization = $1`, [id])).rows).toEqual([]);
  }
});
