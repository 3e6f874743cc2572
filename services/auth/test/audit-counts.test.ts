import { afterAll, beforeAll, expect, it } from 'vitest';
import { Database } from '@crs/kit/data/database';
import { createLogger } from '@crs/kit/process/log';
import { checkPassword } from '../src/sign-in/passwords.ts';
import { quickHash } from './_quick-hash.ts';
import { ANN, BOB, organization, serviceUrl, startAuthWorld, user, type AuthWorld } from './_fixtures.ts';

let world: AuthWorld;
beforeAll(async () => {
  world = await startAuthWorld(['acme', 'globex', 'initech'].flatMap((id) => [organization(id), user(id, ANN)]));
  await world.rows('update auth.users set password_hash = $1', [quickHash('another password')]);
});
afterAll(() => world?.close());

it('a read of the audit trail adds no entry if it returns only entries of earlier reads, so polling does not feed itself', async () => {
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

it('an operator creates at most 100 counted entries a minute in an organization, and as many in the next', async () => {
  for (const tenant of ['globex', 'initech']) {
    const call = await world.operate(tenant);
    for (let i = 0; i < 102; i++)
      await world.auth.recordAudit({ action: 'person.find', target: `call ${i}`, address: '', counted: true }, call);
  }
  const rows = await world.rows<{ organization: string; named: number; others: number }>(
    `select organization, count(*) filter (where target <> 'others')::int as named,
        (sum(count) filter (where target = 'others'))::int as others
      from auth.audit where action = 'person.find' group by 1 order by 1`,
  );
  expect(rows).toEqual([
    { organization: '*', named: 0, others: 4 },
    { organization: 'globex', named: 100, others: null },
    { organization: 'initech', named: 100, others: null },
  ]);
});

it('wrong passwords for one organization share one audit entry per minute, whatever the account and the address', async () => {
  const log = createLogger('auth', { level: 'silent' });
  const db = new Database({ name: 'auth', url: serviceUrl(world.databaseUrl), maxConnections: 2, log, pipeline: true });
  for (const tenant of ['globex', 'initech', 'nowhere', 'elsewhere']) {
    for (const email of [ANN, BOB])
      for (let i = 1; i <= 3; i++)
        await checkPassword({ db }, { organization: tenant, email, password: 'wrong', address: `10.0.2.${i}` });
  }
  await db.close();
  const rows = await world.rows(
    `select organization, actor, outcome, sum(count)::int as count, count(*)::int as entries,
        (array_agg(target order by audit_id))[1] as target, (array_agg(address order by audit_id))[1] as address
      from auth.audit where action = 'sign-in.refuse' group by 1, 2, 3 order by 1`,
  );
  // A new minute may have begun meanwhile.
  const entry = {
    actor: 'sign-in',
    outcome: 'unauthenticated',
    address: '10.0.2.1',
    entries: expect.toSatisfy((n: number) => n <= 2),
  };
  expect(rows).toEqual([
    { ...entry, organization: '*', target: 'unknown user', count: 12 },
    { ...entry, organization: 'globex', target: ANN, count: 6 },
    { ...entry, organization: 'initech', target: ANN, count: 6 },
  ]);
});

it('throttled sign-ins share one audit entry per account and minute, whatever the address', async () => {
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
  // A new minute may have begun meanwhile.
  const entries = expect.toSatisfy((n: number) => n <= 2);
  expect(rows).toEqual([
    { organization: 'acme', target: ANN, count: 5, entries },
    { organization: 'acme', target: 'unknown user', count: 2, entries },
  ]);
});
