import { randomUUID } from 'node:crypto';
import { interceptStatements } from '@crs/testing/intercept-statements';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { callLine, sendBatch, tenantRecords } from '../_records.ts';
import { crs, EMAIL, NAME, traces } from './_people.ts';

const ACME = tenant('acme');
/** Three pages of a search. */
const CALLS = 2_100;
const callId = (n: number) => `call-${String(n).padStart(4, '0')}`;

let world: World;
beforeAll(async () => {
  world = await sharedWorld();
  await world.load(tenantRecords(ACME));
  const lines = Array.from({ length: CALLS }, (_, i) => callLine(ACME, callId(i)));
  for (let from = 0; from < CALLS; from += 1_000) await sendBatch(world, ACME, lines.slice(from, from + 1_000));
});
beforeEach(async () => {
  // Every seventh call has the person, in each page.
  const participants = [{ name: NAME, email: EMAIL }];
  await sendBatch(
    world,
    ACME,
    Array.from({ length: CALLS / 7 }, (_, i) => callLine(ACME, callId(i * 7), { participants })),
  );
});

const erase = (...args: string[]) => crs(world, 'person', 'erase', '--org', ACME, '--name', NAME, '--yes', ...args);
const entries = async () => (await crs(world, 'erasures', '--org', ACME)).json.data;

/** Fails the nth run of a statement. @returns what `work` returns, and whether the statement failed */
async function failing<T>(name: string, nth: number, work: () => Promise<T>): Promise<{ result: T; failed: boolean }> {
  let runs = 0;
  const stop = interceptStatements((statement) =>
    (statement.name ?? statement.text).startsWith(name) && ++runs === nth ? { text: 'select 1 / 0' } : statement,
  );
  try {
    return { result: await work(), failed: runs >= nth };
  } finally {
    stop();
  }
}

describe('an erasure that is interrupted', () => {
  it.each([
    [1, 'upsert_calls'],
    [1, 'advance_erasure'],
    [2, 'upsert_calls'],
    [2, 'take_places'],
    [3, 'declare export_page'],
    [3, 'advance_erasure'],
  ])('in run %i of %s is continued by the same command, with the same result', async (nth, name) => {
    const known = (await entries()).length;
    const { result, failed } = await failing(name, nth, () => erase());
    expect({ failed, status: result.status }).toEqual({ failed: true, status: 1 });
    const [interrupted] = (await entries()).slice(known);
    expect(interrupted.completed_at).toBeNull();

    const { json } = await erase();
    expect(json).toEqual({ erasure_id: interrupted.erasure_id, changed: CALLS / 7, deleted: 0, held: 0 });
    expect(await traces(world, ACME)).toEqual([]);
    const [completed, ...further] = (await entries()).slice(known);
    expect(further).toEqual([]);
    expect(completed).toMatchObject({ erasure_id: interrupted.erasure_id, count: CALLS / 7, completed_at: expect.any(String) });
  });

  it('is not continued by an erasure of somebody else, or by one that deletes', async () => {
    const { result } = await failing('advance_erasure', 2, () => erase());
    expect(result.status).toBe(1);
    const [interrupted] = (await entries()).slice(-1);
    const other = await crs(world, 'person', 'erase', '--org', ACME, '--name', 'Somebody Else', '--yes');
    expect(other.json).toMatchObject({ changed: 0 });
    const { json: deleting } = await erase('--calls');
    expect(new Set([interrupted.erasure_id, other.json.erasure_id, deleting.erasure_id]).size).toBe(3);
    expect(deleting.deleted).toBe(CALLS / 7 - interrupted.count);
    expect((await erase()).json.erasure_id).toBe(interrupted.erasure_id);
  });
});

describe('two erasures of one person at the same time', () => {
  it('share one erasure, and count each call once', async () => {
    const { people, operator } = world.operator;
    const run = async () => {
      const request = { erasureId: String(randomUUID()), person: { email: '', name: NAME, employer: '' }, deleteCalls: false };
      for (;;) {
        const response = await people.erasePerson(request, await operator(ACME));
        if (!response.more) return response;
        request.erasureId = response.erasureId;
      }
    };
    const [first, second] = await Promise.all([run(), run()]);
    expect(first.erasureId).toBe(second.erasureId);
    expect(Math.max(first.changed, second.changed)).toBe(CALLS / 7);
    expect(await traces(world, ACME)).toEqual([]);
    expect((await entries()).at(-1).count).toBe(CALLS / 7);
  });
});
