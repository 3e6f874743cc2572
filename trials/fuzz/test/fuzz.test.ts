import { startWorld } from '@crs/testing/world';
import { expect, it } from 'vitest';
import { fuzz } from '../run.ts';
import { fill } from '../system.ts';
import { table } from '../table.ts';

/** A short run. The long one is the script `node trials/fuzz/main.ts`. */
const REQUESTS = 250;

it('answers to generated requests keep the contract', async () => {
  const world = await startWorld();
  try {
    const { api, tools } = world.stack.addresses;
    const report = await fuzz(await fill(world.operator, { api, tools }), { requests: REQUESTS, seed: 1, concurrency: 16 });
    expect(report.violations, table(report)).toEqual([]);
    // The run had answers of every kind.
    const outcomes = [...report.outcomes.values()].flatMap((row) => [...row.keys()]);
    expect(outcomes).toEqual(
      expect.arrayContaining(['400', '401', '403', '404', '405', '406', '200 result', '200 bad_request', '200 not_found']),
    );
  } finally {
    await world.close();
  }
});
