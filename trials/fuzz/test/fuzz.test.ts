import { startWorld } from '@crs/testing/world';
import { expect, it } from 'vitest';
import { fuzz } from '../run.ts';
import { fill } from '../system.ts';
import { table } from '../table.ts';

/** Few, for a short run. `node trials/fuzz/main.ts` sends many more. */
const REQUESTS = 250;

it('responses to generated requests conform to the contract', async () => {
  const world = await startWorld();
  try {
    const { api, tools } = world.stack.addresses;
    const report = await fuzz(await fill(world.operator, { api, tools }), { requests: REQUESTS, seed: 1, concurrency: 16 });
    expect(report.violations, table(report)).toEqual([]);
    // The run covered responses of every kind.
    const outcomes = [...report.outcomes.values()].flatMap((row) => [...row.keys()]);
    expect(outcomes).toEqual(
      expect.arrayContaining(['400', '401', '403', '404', '405', '406', '200 result', '200 bad_request', '200 not_found']),
    );
  } finally {
    await world.close();
  }
});
