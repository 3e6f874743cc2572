import { afterAll, beforeAll, expect, it } from 'vitest';
import { Database } from '@crs/kit/data/database';
import { createLogger } from '@crs/kit/process/log';
import { checkPassword } from '../src/sign-in/passwords.ts';
import { ANN, BOB, organization, serviceUrl, startAuthWorld, user, type AuthWorld } from './_fixtures.ts';

let world: AuthWorld;
beforeAll(async () => {
  world = await startAuthWorld([organization('acme'), user('acme', ANN)]);
});
afterAll(() => world?.close());

it('reading nothing but its own readings adds no entry, so a reader does not follow itself', async () => {
  const { auth } = world.operator;
  const acme = await world.operate('acme');
  await auth.listAudit({ limit: 1 }, acme);
  const [{ id } = { id: 0 }] = (await auth.listAudit({ limit: 1 }, acme)).entries;
  const count = async () => (await world.rows('select 1 from auth.audit')).length;
  const before = await count();
  for (let i = 0; i < 3; i++) await auth.listAudit({ limit: 100, afterId: id - 1 }, acme);
  expect(await count()).toBe(before);
  await auth.listUsers({}, acme);
  for (let i = 0; i < 3; i++) await auth.listAudit({ limit: 100, afterId: id - 1 }, acme);
  const added = (await count()) - before;
  expect(added).toBeGreaterThanOrEqual(2);
  expect(added).toBeLessThanOrEqual(3);
});

it('throttled sign-ins are one entry of the account and minute, whatever the address', async () => {
  const log = createLogger('auth', { level: 'silent' });
  const db = new Database({ name: 'auth', url: serviceUrl(world.databaseUrl), maxConnections: 2, log, pipeline: true });
  const attempt = (organizationId: string, email: string, address: string) =>
    checkPassword({ db }, { organization: organizationId, email, password: 'wrong', address });
  const kinds: string[] = [];
  for (let i = 0; i < 15; i++) kinds.push((await attempt('acme', ANN, `10.0.0.${i}`)).kind);
  for (let i = 0; i < 12; i++) await attempt('acme', BOB, '10.0.1.1');
  await db.close();
  expect(kinds.filter((kind) => kind === 'throttled')).toHaveLength(5);
  const rows = await world.rows<{ organization: string; target: string; count: number }>(
    `select organization, target, sum(count)::int as count, count(*)::int as entries from auth.audit
      where action = 'sign-in.refuse' and outcome = 'resource_exhausted' group by 1, 2 order by 2`,
  );
  // The minute may have ended in between.
  const entries = expect.toSatisfy((n: number) => n <= 2);
  expect(rows).toEqual([
    { organization: 'acme', target: ANN, count: 5, entries },
    { organization: 'acme', target: 'unknown user', count: 2, entries },
  ]);
});
