import { createDatabase } from '@crs/testing/postgres';
import { expect, inject, it } from 'vitest';
import { greatestRequests } from '../greatest.ts';
import { fuzz } from '../run.ts';
import { startFuzzSystem } from '../system.ts';
import { table } from '../table.ts';

it('no request blocks the event loop of a process for long', { timeout: 300_000 }, async () => {
  const database = await createDatabase(inject('postgresUrl'), inject('template'));
  const system = await startFuzzSystem(database.url);
  try {
    const alone = { processes: system, requests: 60, greatest: greatestRequests(system) };
    const report = await fuzz(system, { requests: 0, seed: 1, concurrency: 1, alone });
    expect(report.violations, table(report)).toEqual([]);
  } finally {
    await system.stop();
    await database.drop();
  }
});
