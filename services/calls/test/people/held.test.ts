import { randomUUID } from 'node:crypto';
import { whileHeld } from '@crs/testing/hold';
import { runCrs } from '@crs/testing/run-crs';
import { startWorld, type OwnWorld } from '@crs/testing/world';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { holdsOf } from '../_holds.ts';
import { PROJECT, sendBatch, tenantRecords } from '../_records.ts';
import { backUp } from './_restore.ts';
import { crs, linesOf, MENTIONED, NAME, NAMED, stored, traces } from './_people.ts';

const [ACME, GLOBEX] = ['acme', 'globex'];
const named = Object.keys(NAMED).map((_, i) => `named-${String(i).padStart(2, '0')}`);
const mentioned = Object.keys(MENTIONED).map((_, i) => `text-${i}`);

let world: OwnWorld;
beforeAll(async () => {
  world = await startWorld();
  await world.load([...tenantRecords(ACME), ...tenantRecords(GLOBEX)]);
});
afterAll(() => world?.close());
beforeEach(async () => {
  for (const organization of [ACME, GLOBEX]) await sendBatch(world, organization, linesOf(organization));
});

const erase = async (...args: string[]) => (await crs(world, 'person', 'erase', '--org', ACME, '--name', NAME, ...args)).json;

it.each([
  ['the fields of', [], mentioned],
  ['each call of', ['--calls'], []],
])('an erasure of %s a person leaves out held calls, counts them, and erases them after the release', async (_, mode, left) => {
  const held = [named[3]!, named[8]!];
  const [ours, theirs] = [
    await holdsOf(world, ACME).create({ callIds: held }),
    await holdsOf(world, GLOBEX).create({ callIds: named }),
  ];
  const before = await stored(world, ACME);
  const result =
    mode.length > 0 ? { changed: 0, deleted: named.length + mentioned.length - 2 } : { changed: named.length - 2, deleted: 0 };
  expect(await erase('--plan', ...mode)).toMatchObject({ ...result, held: 2 });
  const { erasure_id: id, ...counts } = await erase('--yes', ...mode);
  expect(counts).toEqual({ ...result, held: 2 });
  expect(await traces(world, ACME)).toEqual([...held, ...left]);
  for (const callId of held) expect((await stored(world, ACME)).get(callId)).toBe(before.get(callId));
  const { json } = await crs(world, 'erasures', '--org', ACME);
  expect(json.data.find((each: { erasure_id: string }) => each.erasure_id === id)).toMatchObject({ held: 2 });

  await holdsOf(world, ACME).release(ours);
  expect(await erase('--yes', ...mode)).toMatchObject(mode.length > 0 ? { deleted: 2, held: 0 } : { changed: 2, held: 0 });
  expect(await traces(world, ACME)).toEqual(left);
  await holdsOf(world, GLOBEX).release(theirs);
});

it('a replay leaves out the calls that a hold kept, though the restored backup is older than the hold', async () => {
  const restore = await backUp(world, ACME);
  const holdId = await holdsOf(world, ACME).create({ callIds: [named[3]!] });
  const { erasure_id: id } = await erase('--yes', '--calls');
  const { data } = (await crs(world, 'erasures', '--org', ACME)).json;
  const entry = data.find((each: { erasure_id: string }) => each.erasure_id === id);
  expect(entry.held_calls).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/)]);
  await holdsOf(world, ACME).release(holdId);
  await restore();
  const replayed = await runCrs(world, ['erasures', 'replay', '-', '--json'], JSON.stringify({ data: [entry] }));
  expect(JSON.parse(replayed.stdout).data).toMatchObject([{ deleted: named.length + mentioned.length - 1, held: 1 }]);
  expect(await traces(world, ACME)).toEqual([named[3]]);
});

it('a hold of a project keeps all of its calls from being erased', async () => {
  const holdId = await holdsOf(world, ACME).create({ projectId: PROJECT });
  expect(await erase('--yes')).toMatchObject({ changed: 0, deleted: 0, held: named.length });
  expect((await traces(world, ACME)).length).toBe(named.length + mentioned.length);
  await holdsOf(world, ACME).release(holdId);
});

it('a hold that is created during a step waits for it, and then finds no call', async () => {
  const { people, operator } = world.operator;
  const person = { email: '', name: NAME, employer: '' };
  const request = { erasureId: randomUUID(), person, deleteCalls: true };
  const identity = await operator(ACME);
  let creating: Promise<unknown> | undefined;
  const { erasing } = await whileHeld(
    world.databaseUrl,
    { table: 'calls.erased_calls', at: 'statement', by: 'crs-calls-import' },
    () => ({ erasing: people.erasePerson(request, identity) }),
    async () => {
      creating = holdsOf(world, ACME)
        .create({ callIds: [named[0]!] })
        .catch((error: unknown) => error);
      await expect.poll(waiters, { timeout: 20_000, interval: 10 }).toBe(2);
    },
  );
  expect(await erasing).toMatchObject({ deleted: named.length + mentioned.length, held: 0 });
  expect(await creating).toMatchObject({ kind: 'invalid_argument' });
});

async function waiters(): Promise<number> {
  const text = `select count(*)::int as n from pg_stat_activity
    where datname = current_database() and application_name = 'crs-calls-import' and wait_event_type = 'Lock'`;
  return (await world.query(text)).rows[0].n;
}
