import { expect, inject, it } from 'vitest';
import { createDatabase } from '../src/postgres.ts';
import { fuzz } from '../src/fuzz/run.ts';
import { startFuzzSystem } from '../src/fuzz/system.ts';
import { table } from '../src/fuzz/table.ts';
import { OPERATOR_CREDENTIAL, SECRET } from '../src/setup.ts';

/** The run of many is a script: `node packages/testing/src/fuzz/main.ts`. */
const REQUESTS = 1_500;

it('answers to generated requests keep the contract', { timeout: 300_000 }, async () => {
  const database = await createDatabase(inject('postgresUrl'), inject('template'));
  const access = { databaseUrl: database.url, secret: SECRET, operatorCredential: OPERATOR_CREDENTIAL };
  const system = await startFuzzSystem({ ...access, say: (line) => console.log(line) });
  try {
    const report = await fuzz(system, { requests: REQUESTS, seed: 1, concurrency: 16, progress: () => {} });
    expect(report.violations, table(report)).toEqual([]);
    expect(report.broken).toBe(0);
    // It got as far as answers of every kind.
    const outcomes = [...report.outcomes.values()].flatMap((row) => [...row.keys()]);
    expect(outcomes).toEqual(
      expect.arrayContaining(['200', '201', '304', '400', '401', '404', '405', '406', '200 result', '200 bad_request']),
    );
  } finally {
    await system.stop();
    await database.drop();
  }
});
