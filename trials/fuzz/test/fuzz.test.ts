import { expect, inject, it } from 'vitest';
import { createDatabase } from '@crs/testing/postgres';
import { greatestRequests } from '../greatest.ts';
import { fuzz } from '../run.ts';
import { startFuzzSystem } from '../system.ts';
import { table } from '../table.ts';

/** A short run. The long one is the script `node trials/fuzz/main.ts`. */
const REQUESTS = 250;

it('answers to generated requests keep the contract', { timeout: 300_000 }, async () => {
  const database = await createDatabase(inject('postgresUrl'), inject('template'));
  const system = await startFuzzSystem(database.url);
  try {
    const report = await fuzz(system, {
      requests: REQUESTS,
      seed: 1,
      concurrency: 16,
      measured: 60,
      greatest: greatestRequests(system),
    });
    expect(report.violations, table(report)).toEqual([]);
    // The run had answers of every kind.
    const outcomes = [...report.outcomes.values()].flatMap((row) => [...row.keys()]);
    expect(outcomes).toEqual(
      expect.arrayContaining(['400', '401', '403', '404', '405', '406', '200 result', '200 bad_request', '200 not_found']),
    );
  } finally {
    await system.stop();
    await database.drop();
  }
});
