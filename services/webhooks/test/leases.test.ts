import { fillTenant, WEBHOOK } from '@crs/testing/tenant-rows';
import { startWorld, type OwnWorld } from '@crs/testing/world';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { claimDue, deleteLeased, release, type Claim } from '../src/store/due.ts';

// Two senders on connections of their own. Each organization has one endpoint, with the same id.

const [ACME, GLOBEX] = ['acme', 'globex'];
/** The endpoints are due by this time, but not by that of the running sender. */
const NOW = new Date('2200-01-02Z');
const [FIRST_LEASE, SECOND_LEASE] = ['11111111-2222-4333-8444-000000000001', '11111111-2222-4333-8444-000000000002'];

let world: OwnWorld;
let first: pg.Client;
let second: pg.Client;
beforeAll(async () => {
  world = await startWorld();
  for (const id of [ACME, GLOBEX]) await fillTenant(world, id);
  [first, second] = [new pg.Client(world.databaseUrl), new pg.Client(world.databaseUrl)];
  await Promise.all([first.connect(), second.connect()]);
});
afterAll(async () => {
  await Promise.all([first?.end(), second?.end()]);
  await world?.close();
});
beforeEach(() => first.query('update webhooks.due set lease = null, leased_until = null'));

async function claim(sender: pg.Client, lease: string, all = 10): Promise<string[]> {
  const { text, values } = claimDue(NOW, lease, { all, slow: all });
  const { rows } = await sender.query<Claim>(text, values as unknown[]);
  return rows.map(({ organization }) => organization).toSorted();
}
const leaseOf = async (organization: string) =>
  (await first.query('select lease from webhooks.due where organization = $1', [organization])).rows[0]?.lease;

it('an endpoint that another sender is claiming is passed over without a wait', async () => {
  await first.query('begin');
  const claimed = await claim(first, FIRST_LEASE, 1);
  const others = await claim(second, SECOND_LEASE);
  await first.query('commit');
  expect(claimed).toHaveLength(1);
  expect([...claimed, ...others].toSorted()).toEqual([ACME, GLOBEX]);
});

it('a leased endpoint is claimed by nobody else until the lease has ended', async () => {
  expect(await claim(first, FIRST_LEASE)).toEqual([ACME, GLOBEX]);
  expect(await claim(second, SECOND_LEASE)).toEqual([]);
  await first.query(`update webhooks.due set leased_until = now() - interval '1 second' where organization = $1`, [ACME]);
  expect(await claim(second, SECOND_LEASE)).toEqual([ACME]);
  expect(await leaseOf(GLOBEX)).toBe(FIRST_LEASE);
});

it('a sender that has lost its lease can end neither that of its successor nor the endpoint', async () => {
  await claim(second, SECOND_LEASE);
  const lost = { organization: ACME, webhookId: WEBHOOK, wakes: '0', slow: false };
  const late = [release(lost, FIRST_LEASE, { now: NOW, next: NOW, isSlow: false }), deleteLeased(lost, FIRST_LEASE)];
  for (const { text, values } of late) await first.query(text, values as unknown[]);
  expect(await leaseOf(ACME)).toBe(SECOND_LEASE);
});
