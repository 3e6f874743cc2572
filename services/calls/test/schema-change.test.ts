import { afterAll, beforeAll, expect, it } from 'vitest';
import { migrate } from '@crs/kit/data/migrate';
import { buildIndex, type Migration } from '@crs/kit/data/migration';
import { startWorld, type OwnWorld } from '@crs/testing/world';
import { migrations } from '../migrations/index.ts';

const ROWS = 500;
const BATCH_ROWS = 100;

/** The migrations of an imaginary next version: add a column, fill it in batches, and index it. During an upgrade, version N runs on schema N+1. */
const addColumn: Migration = {
  name: '29990101T000000-add-next-column',
  up: (db) => db.raw('alter table calls.calls add column next_column text'),
  down: async () => {},
};
const fillColumn: Migration = {
  name: '29990101T000100-fill-next-column',
  outsideTransaction: true,
  up: async (db) => {
    for (let changed = BATCH_ROWS; changed === BATCH_ROWS;) {
      const filled = await db.raw<{ rowCount: number }>(
        `update calls.calls set next_column = ''
         where ctid = any(array(select ctid from calls.calls where next_column is null limit ${BATCH_ROWS}))`,
      );
      changed = filled.rowCount;
    }
    await buildIndex(db, 'calls', 'calls_next_column', 'calls.calls (organization, next_column)');
  },
  down: async () => {},
};

let world: OwnWorld;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.close());

it('an additive migration of the next version runs while this version reads and writes, and no request fails', async () => {
  const organizations = ['acme', 'globex'];
  for (const id of organizations) {
    await world.load([
      { type: 'organization', id, name: id, rate_limit: { requests: 1_000_000, period_seconds: 60 } },
      ...Array.from({ length: ROWS }, (_, n) => ({
        type: 'call',
        organization: id,
        id: `call_${n}`,
        created_at: '2026-01-01T00:00:00Z',
      })),
    ]);
  }
  const keys = await Promise.all(organizations.map((id) => world.createKey(id)));
  let isMigrating = true as boolean;
  const statuses: number[] = [];
  const read = async (key: string) => {
    while (isMigrating) statuses.push((await world.rest('/v1/calls/call_1', { key })).status);
  };
  const write = async (organization: string) => {
    for (let n = 0; isMigrating; n++)
      await world.load([{ type: 'call', organization, id: `new_${n}`, created_at: '2026-01-02T00:00:00Z' }]);
    return organization;
  };
  const traffic = Promise.all([...keys.map(read), ...organizations.map(write)]);
  const steps = [...migrations, addColumn, fillColumn];
  const names = await migrate({ adminUrl: world.databaseUrl, service: 'calls', migrations: steps }).finally(
    () => (isMigrating = false),
  );
  await traffic;
  expect(names).toEqual([addColumn.name, fillColumn.name]);
  expect(new Set(statuses)).toEqual(new Set([200]));
  const { rows } = await world.query(`select count(*)::integer as filled from calls.calls where next_column = ''`);
  expect(rows[0].filled).toBeGreaterThanOrEqual(organizations.length * ROWS);
});
