import { afterAll, beforeAll, expect, it } from 'vitest';
import { Database } from '@crs/kit/data/database';
import { everyOrganizationScope, workFor } from '@crs/kit/data/scope';
import { createLogger } from '@crs/kit/process/log';
import { deleteOldEntries } from '../src/store/audit.ts';
import { organization, serviceUrl, startAuthWorld, TENANTS, type AuthWorld } from './_fixtures.ts';

let world: AuthWorld;
let db: Database;
beforeAll(async () => {
  world = await startAuthWorld(TENANTS.map((id) => organization(id)));
  const log = createLogger('auth', { level: 'silent' });
  db = new Database({ name: 'auth', url: serviceUrl(world.databaseUrl), maxConnections: 1, log, pipeline: true });
});
afterAll(async () => {
  await db?.close();
  await world?.close();
});

const remove = async (days: number, limit = 100) =>
  (await db.run(everyOrganizationScope(workFor(5_000)), deleteOldEntries(days, limit))).length;
const left = async () =>
  (await world.rows<{ target: string }>(`select target from auth.audit where actor = 'old' order by audit_id`)).map(
    ({ target }) => target,
  );

it('deletes entries of all organizations by their age, the oldest first, and never younger ones than 90 days', async () => {
  await world.rows(`truncate auth.audit`);
  for (const [id, days] of [
    ['acme', 200],
    ['globex', 200],
    ['*', 150],
    ['acme', 100],
    ['globex', 91],
    ['acme', 89],
  ] as const)
    await world.rows(
      `insert into auth.audit (organization, at, actor, action, target) values ($1, now() - $2 * interval '1 day', 'old', 'a', $1 || $2)`,
      [id, days],
    );
  expect(await remove(180, 1)).toBe(1);
  expect(await left()).toEqual(['globex200', '*150', 'acme100', 'globex91', 'acme89']);
  expect(await remove(120)).toBe(2);
  expect(await left()).toEqual(['acme100', 'globex91', 'acme89']);
  expect(await remove(1)).toBe(2);
  expect(await left()).toEqual(['acme89']);
});
