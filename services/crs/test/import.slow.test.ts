import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { whileHeld } from '@crs/testing/hold';
import { startProcessWorld, type ProcessWorld } from '@crs/testing/process-world';
import { randomFrom } from '@crs/testing/random';
import { openSession } from '@crs/testing/sql';
import { startWorld } from '@crs/testing/world';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { CALLS_LEFT, records, startImport, tablesOf, type Import } from './_import-world.ts';

const SERVICES = ['auth', 'calls', 'projects', 'entities'] as const;

let world: ProcessWorld;
let dir: string;
let file: string;
/** The expected tables: those after an import without faults. */
let clean: Record<string, string[]>;
/** An import without the calls service. It gives up only after half a minute, so it starts before the tests. */
let failingImport: Import;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'crs-import-'));
  file = await write('all', records());
  world = await startProcessWorld(SERVICES);
  const outage = [
    { type: 'organization', id: 'outage' },
    { type: 'project', organization: 'outage', id: '00000000-0000-4000-8000-000000000001' },
    { type: 'call', organization: 'outage', id: 'call-1' },
    { type: 'project', organization: 'outage', id: '00000000-0000-4000-8000-000000000002' },
  ];
  failingImport = startImport(await write('outage', outage), world.processes, { CRS_CALLS_ADMIN_ADDRESS: '127.0.0.1:1' });
  const other = await startWorld();
  try {
    await other.load(records());
    clean = await tablesOf(async (text) => (await other.query(text)).rows);
  } finally {
    await other.close();
  }
});
afterAll(async () => {
  await world?.close();
  await rm(dir, { recursive: true });
});
beforeEach(async () => {
  // A failed test may leave a service stopped.
  for (const service of SERVICES) await world.processes.start(service);
  const tables = 'calls.calls, calls.call_days, entities.entities, projects.projects, projects.billing_offices';
  await world.database.query(`truncate ${tables} cascade`);
  await world.database.query(`delete from auth.organizations where organization <> 'outage'`);
});

async function write(name: string, lines: object[]): Promise<string> {
  const path = join(dir, `${name}.ndjson`);
  await writeFile(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  return path;
}

/** All tables, without the rows of the failing import. */
async function stored(): Promise<Record<string, string[]>> {
  const all = await tablesOf((text) => world.database.query(text));
  return Object.fromEntries(Object.entries(all).map(([table, rows]) => [table, rows.filter((row) => !row.includes('"outage"'))]));
}

async function expectDone(running: Import): Promise<void> {
  const { status, stdout, stderr } = await running.ended;
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  const lines = records().length;
  const summary = JSON.parse(stdout) as { accepted: number; unchanged: number };
  expect(summary).toMatchObject({ lines, refused: 0, errors: [] });
  expect(summary.accepted + summary.unchanged).toBe(lines);
  expect(await stored()).toEqual(clean);
}

it('an import without faults leaves rows in every table', () => {
  for (const [table, rows] of Object.entries(clean)) expect(rows.length, table).toBeGreaterThan(1);
  expect(clean['calls.calls']).toHaveLength(2 * CALLS_LEFT);
});

describe('an import has the same result as without faults,', () => {
  it.each([
    ['calls', 'calls.calls', 'crs-calls-import'],
    ['entities', 'entities.entities', 'crs-entities-import'],
    ['projects', 'projects.projects', 'crs-projects-import'],
    ['auth', 'auth.project_roles', 'crs-auth'],
  ] as const)('even if %s dies while it writes to %s', async (victim, table, by) => {
    const { running } = await whileHeld(
      world.databaseUrl,
      { table, at: 'statement', by },
      () => ({ running: startImport(file, world.processes) }),
      () => world.processes.kill(victim),
    );
    await world.processes.start(victim);
    await expectDone(running);
  });

  it('even if three services are killed one after another', { timeout: 240_000 }, async () => {
    const running = startImport(file, world.processes);
    await vi.waitFor(async () => expect(await world.database.query('select 1 from calls.calls limit 1')).not.toEqual([]), 20_000);
    const random = randomFrom(1);
    let kills = 0;
    while (running.child.exitCode === null && kills < 3) {
      const victim = (['calls', 'projects', 'auth'] as const)[kills++]!;
      await sleep(random() * 150);
      await world.processes.kill(victim);
      await world.processes.start(victim);
    }
    await expectDone(running);
    expect(kills).toBe(3);
  });

  it('even if the command itself is killed twice and run again', async () => {
    // The insertion of a call waits for whoever holds the lock of its id.
    await world.database.query(`create function public.hold_call() returns trigger language plpgsql as
      $$ begin perform pg_advisory_xact_lock_shared(hashtextextended(new.call_id, 0)); return new; end $$`);
    await world.database.query(
      'create trigger hold before insert on calls.calls for each row execute function public.hold_call()',
    );
    for (const call of ['call-105', 'call-210']) {
      const holder = await openSession(world.databaseUrl);
      await holder.query('select pg_advisory_lock(hashtextextended($1, 0))', [call]);
      const { child, ended } = startImport(file, world.processes);
      await vi.waitFor(
        async () => {
          expect(child.exitCode, 'the import ended instead of waiting').toBeNull();
          expect(await world.database.query(`select 1 from pg_locks where locktype = 'advisory' and not granted`)).not.toEqual(
            [],
          );
        },
        { timeout: 20_000 },
      );
      child.kill('SIGKILL');
      await ended;
      await holder.close();
    }
    await expectDone(startImport(file, world.processes));
  });
});

describe('an import during a long outage of a service', () => {
  it(
    'stops with the number of the last finished line and what to do next, and a second run finishes it',
    { timeout: 240_000 },
    async () => {
      const { status, stdout, stderr } = await failingImport.ended;
      expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
      const { error } = JSON.parse(stderr) as { error: { code: string; message: string } };
      expect(error.code).toBe('unavailable');
      expect(error.message).toMatch(
        /^The import stopped after line 2: The calls service is not available\. .* Run the same file again once that is fixed: /,
      );
      const again = await startImport(join(dir, 'outage.ndjson'), world.processes).ended;
      expect(again.status).toBe(0);
      expect(JSON.parse(again.stdout)).toMatchObject({ lines: 4, refused: 0 });
      const ids = await world.database.query(`select call_id as id from calls.calls where organization = 'outage'`);
      expect(ids).toEqual([{ id: 'call-1' }]);
    },
  );
});
