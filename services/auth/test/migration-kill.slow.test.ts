import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { migrate } from '@crs/kit/data/migrate';
import { INHERITED } from '@crs/testing/inherited';
import type { TestDatabase } from '@crs/testing/postgres';
import { migrations } from '../migrations/index.ts';
import { emptyDatabase, query } from './_fixtures.ts';

let database: TestDatabase;
beforeEach(async () => {
  database = await emptyDatabase();
});
afterEach(() => database.drop());

it('a killed migration process leaves no statement running', async () => {
  const child = spawn(process.execPath, [fileURLToPath(new URL('_run-slow-step.ts', import.meta.url)), database.url], {
    env: INHERITED,
    stdio: 'inherit',
  });
  const sleeping = () =>
    query(database.url, `select 1 from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()`);
  await expect.poll(sleeping, { timeout: 15_000 }).toHaveLength(1);
  child.kill('SIGKILL');
  await expect.poll(sleeping, { timeout: 4_000 }).toHaveLength(0);
  const next = {
    name: '29990101T000000-change-users',
    up: async (db: { raw(statement: string): Promise<unknown> }) =>
      void (await db.raw('alter table auth.users add column later integer')),
    down: async () => {},
  };
  const ran = await migrate({ adminUrl: database.url, service: 'auth', migrations: [...migrations, next] });
  expect(ran).toEqual([next.name]);
});
