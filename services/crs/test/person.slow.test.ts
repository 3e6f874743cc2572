import { startProcessWorld, type ProcessWorld } from '@crs/testing/process-world';
import { openSession } from '@crs/testing/sql';
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { readLedger } from '../src/people/ledger.ts';
import { erasePerson, findPerson } from '../src/people/run.ts';

const PERSON = { email: '', name: 'Zyxa Canary', employer: '' };
/** Three steps of an erasure. */
const CALLS = 2_100;
/** A call with the person in each step. */
const IN_STEP = ['call-0000', 'call-1050', 'call-2009'];

let world: ProcessWorld;
beforeAll(async () => {
  world = await startProcessWorld(['auth', 'calls', 'projects', 'entities']);
  await world.tryLoad(['acme', 'globex'].map((id) => ({ type: 'organization', id })));
  await world.database.query(`create function public.hold_call() returns trigger language plpgsql as
    $$ begin perform pg_advisory_xact_lock_shared(hashtextextended(old.call_id, 0)); return coalesce(new, old); end $$`);
  await world.database.query(
    `create trigger hold before update or delete on calls.calls for each row when (old.organization = 'acme') execute function public.hold_call()`,
  );
});
afterAll(() => world?.close());
beforeEach(() =>
  world.tryLoad(
    ['acme', 'globex'].flatMap((organization) =>
      Array.from({ length: CALLS }, (_, i) => ({
        type: 'call',
        organization,
        id: `call-${String(i).padStart(4, '0')}`,
        created_at: '2025-03-01T10:00:00Z',
        participants: i % 7 === 0 ? [{ name: PERSON.name, email: 'zyxa@canary.example' }] : [],
        transcript: i % 7 === 0 ? `${PERSON.name}: Hello.` : null,
      })),
    ),
  ),
);

const erase = (deleteCalls: boolean) => erasePerson(world.operator, 'acme', { person: PERSON, deleteCalls }, () => {});
const find = (organization: string) => Array.fromAsync(findPerson(world.operator, organization, PERSON, () => {}));

/** Runs an erasure until it writes a call, and kills the service then. The erasure goes on when the service is back. */
async function eraseWithKills(deleteCalls: boolean) {
  const [first, ...later] = await Promise.all(
    IN_STEP.map(async (callId) => {
      const holder = await openSession(world.databaseUrl);
      await holder.query('select pg_advisory_lock(hashtextextended($1, 0))', [callId]);
      return holder;
    }),
  );
  const erasing = erase(deleteCalls);
  for (const holder of [first!, ...later]) {
    await vi.waitFor(
      async () =>
        expect(
          await world.database.query(`select 1 from pg_locks where locktype = 'advisory' and mode = 'ShareLock' and not granted`),
        ).not.toEqual([]),
      { timeout: 20_000 },
    );
    await world.processes.kill('calls');
    await holder.close();
    await world.processes.start('calls');
  }
  return erasing;
}

it.each([
  ['empties the fields', false],
  ['deletes the calls', true],
])('an erasure that %s is the same if the service is killed in each step', { timeout: 240_000 }, async (_, deleteCalls) => {
  const touched = CALLS / 7;
  const result = await eraseWithKills(deleteCalls);
  expect(result).toMatchObject(deleteCalls ? { changed: 0, deleted: touched } : { changed: touched, deleted: 0 });
  expect(await find('acme')).toEqual([]);
  expect((await find('globex')).length).toBe(touched);
  const entry = (await readLedger(world.operator, 'acme', undefined)).find(({ erasure_id: id }) => id === result.erasureId);
  expect(entry).toMatchObject({ kind: deleteCalls ? 'calls' : 'person', count: touched, held: 0 });
  expect(new Set(entry!.calls).size).toBe(touched);
  const calls = await world.database.query(`select sum(calls)::int as n from calls.call_days where organization = 'acme'`);
  expect(calls).toEqual([{ n: deleteCalls ? CALLS - touched : CALLS }]);
});
