import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { unavailable } from '@crs/kit/errors';
import { startWorld, type OwnWorld } from '@crs/testing/world';
import { follow, type Trail } from '../src/audit/follow.ts';

let world: OwnWorld;
beforeAll(async () => {
  world = await startWorld();
  await world.load(['acme', 'globex'].map((id) => ({ type: 'organization', id })));
});
afterAll(() => world?.close());

const rows = async <Row>(text: string) => (await world.query(text)).rows as Row[];

describe('a reader that follows the audit trail', () => {
  let stop: AbortController;
  let seen: string[];
  let outages: string[];
  let following: Promise<void>;
  /** Thrown by the next read. */
  let failure: Error | undefined;

  const newestId = async () => Number((await rows<{ id: string }>('select max(audit_id) as id from auth.audit'))[0]!.id);
  const insert = (target: string, more = '') =>
    `insert into auth.audit (organization, actor, action, target${more && ', counted_as, count, counted_until'})
      values ('acme', 'x', 'test', '${target}'${more})`;

  beforeEach(async () => {
    stop = new AbortController();
    [seen, outages, failure] = [[], [], undefined];
    const trail: Trail = {
      signal: stop.signal,
      onOutage: ({ kind }) => outages.push(kind),
      after: async (afterId, limit) => {
        if (failure) {
          const error = failure;
          failure = undefined;
          throw error;
        }
        return (await world.operator.auth.listAudit({ afterId, limit }, await world.operator.operator('acme'))).entries;
      },
    };
    const start = await newestId();
    following = (async () => {
      for await (const { action, target } of follow(trail, start)) if (action === 'test') seen.push(target);
    })();
  });
  afterEach(async () => {
    stop.abort();
    await following;
  });

  it('gets each entry once, even if it is committed after later entries, or counts events until its minute is over', async () => {
    const late = rows(`begin; ${insert('late')}; select pg_sleep(2.5); commit`);
    const sleeping = `select 1 from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`;
    await expect.poll(() => rows(sleeping)).toHaveLength(1);
    await rows(insert('early'));
    await rows(insert('counting', `, '\\x01', 3, now() + interval '4 s'`));
    await expect.poll(() => seen, { timeout: 5_000 }).toEqual(['early']);
    await late;
    await expect.poll(() => seen, { timeout: 10_000 }).toEqual(['early', 'late', 'counting']);
  });

  it('continues after an outage of auth, and reads more than one page', async () => {
    failure = unavailable('The auth service is not available.');
    await rows(`insert into auth.audit (organization, actor, action, target)
      select case when i % 2 = 0 then 'acme' else 'globex' end, 'x', 'test', i::text from generate_series(1, 4200) i`);
    await expect.poll(() => seen.length, { timeout: 10_000 }).toBe(2_100);
    expect(outages).toEqual(['unavailable']);
    expect(seen).toEqual(Array.from({ length: 2_100 }, (_, i) => String(2 * (i + 1))));
  });
});
