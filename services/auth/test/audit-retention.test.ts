import { afterAll, beforeAll, expect, it } from 'vitest';
import { Database } from '@crs/kit/data/database';
import { everyOrganizationScope, workFor } from '@crs/kit/data/scope';
import { createLogger } from '@crs/kit/process/log';
import { tenant } from '@crs/testing/world';
import { deleteOldEntries } from '../src/store/audit.ts';
import { organization, serviceUrl, sharedAuthWorld, type SharedAuthWorld } from './_fixtures.ts';

const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];
/** The actor of this test's entries. */
const OLD = tenant('old');

let world: SharedAuthWorld;
let db: Database;
beforeAll(async () => {
  world = await sharedAuthWorld([ACME, GLOBEX].map((id) => organization(id)));
  const log = createLogger('auth', { level: 'silent' });
  db = new Database({ name: 'auth', url: serviceUrl(world.databaseUrl), maxConnections: 1, log, pipeline: true });
});
afterAll(() => db?.close());

const remove = async (days: number, limit = 100) =>
  (await db.run(everyOrganizationScope(workFor(5_000)), deleteOldEntries(days, limit))).length;
/** The entries that are left, each as its organization and its age in days. */
const left = async () => {
  const entries = await world.rows<{ organization: string; target: string }>(
    'select organization, target from auth.audit where actor = $1 order by audit_id',
    [OLD],
  );
  return entries.map(({ organization, target }) => [organization, Number(target)]);
};

it('deletes old entries of all organizations, the oldest first, and never an entry younger than 90 days', async () => {
  const entries = [
    [ACME, 200],
    [GLOBEX, 200],
    ['*', 150],
    [ACME, 100],
    [GLOBEX, 91],
    [ACME, 89],
  ] as const;
  // Negative ids sort before those of all other entries.
  for (const [i, [id, days]] of entries.entries())
    await world.rows(
      `insert into auth.audit (organization, audit_id, at, actor, action, target) overriding system value
        values ($1, $2, now() - $3 * interval '1 day', $4, 'a', $3::text)`,
      [id, i - entries.length, days, OLD],
    );
  expect(await remove(180, 1)).toBe(1);
  expect(await left()).toEqual(entries.slice(1));
  expect(await remove(120)).toBe(2);
  expect(await left()).toEqual(entries.slice(3));
  expect(await remove(1)).toBe(2);
  expect(await left()).toEqual(entries.slice(5));
});
