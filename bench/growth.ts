// Measures whether a request costs more in a larger system: with more calls, with more organizations, with more processes.
//
//   node bench/growth.ts [--rows 1000000] [--requests 1000] [--rounds 3]
//
// It starts the system itself and runs on Linux; a million calls take 3 GB. Each row of its table is the first page of the list, eight requests at a
// time for each gateway: the CPU milliseconds of all processes for a request in each round, the median, and its ratio to the first row of its part.
// Promised: with more processes within 10 %.
import { parseArgs } from 'node:util';
import { connect } from '@crs/crs/connection';
import { createKey } from '@crs/testing/credentials';
import { load } from '@crs/testing/load';
import { OPERATOR_CREDENTIAL } from '@crs/testing/setup';
import { measure } from './load.ts';
import { copyCalls, seedCalls } from './seed.ts';
import { median } from './statistics.ts';
import { startSystem, type System } from './system.ts';

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    requests: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '3' },
  },
});
const REQUESTS = Number(options.requests);
const ROUNDS = Number(options.rounds);
const SIZES = [1_000, 100_000, 1_000_000, 10_000_000].filter((rows) => rows <= Number(options.rows));
const ORGANIZATIONS = [1, 100, 10_000];
/** Of each of the many organizations. */
const CALLS = 50;
const PROCESSES = [1, 2, 4];
/** Keys are made side by side. */
const AT_ONCE = 50;
const BOUNDLESS = { requests: 1_000_000_000, period_seconds: 60 };
const RANGE = 'start_date=2000-01-01T00:00:00Z&end_date=2100-01-01T00:00:00Z';

await withSystem(async (system) => {
  const keys = new Map<number, string>();
  for (const rows of SIZES) {
    const [key] = await organizations(system, `of-${rows}-calls`, 1);
    await seedCalls(system.databaseUrl, { organization: `of-${rows}-calls-1`, rows, before: new Date(), days: 1_000 });
    keys.set(rows, key!);
  }
  await table('calls', SIZES, (rows) => cost(system, [keys.get(rows)!]));
});

await withSystem(async (system) => {
  const keys = await organizations(system, 'many', ORGANIZATIONS.at(-1)!);
  await seedCalls(system.databaseUrl, { organization: 'copied', rows: CALLS, before: new Date(), days: 100 });
  await copyCalls(system.databaseUrl, { from: 'copied', prefix: 'many-', organizations: keys.length, calls: CALLS });
  await table('organizations', ORGANIZATIONS, (count) => cost(system, keys.slice(0, count)));
});

const systems = new Map<number, Prepared>();
for (const count of PROCESSES) systems.set(count, await prepared(count));
await table('gateways and calls', PROCESSES, async (count) => {
  const { system, key } = systems.get(count)!;
  return cost(system, [key]);
});
for (const { system } of systems.values()) await system.stop();

interface Prepared {
  system: System;
  key: string;
}

/** A system with so many API gateways and calls processes, and an organization of 1,000 calls. */
async function prepared(count: number): Promise<Prepared> {
  const system = await startSystem({}, undefined, { 'api-gateway': count, calls: count });
  const [key] = await organizations(system, 'one', 1);
  await seedCalls(system.databaseUrl, { organization: 'one-1', rows: 1_000, before: new Date(), days: 1_000 });
  return { system, key: key! };
}

async function withSystem(work: (system: System) => Promise<void>): Promise<void> {
  const system = await startSystem();
  try {
    await work(system);
  } finally {
    await system.stop();
  }
}

/** Makes so many organizations without calls. @returns a key of each */
async function organizations(system: System, prefix: string, count: number): Promise<string[]> {
  const operator = connect({ addresses: system.admin, credential: OPERATOR_CREDENTIAL });
  try {
    const ids = Array.from({ length: count }, (_, n) => `${prefix}-${n + 1}`);
    await load(
      operator,
      ids.map((id) => ({ type: 'organization', id, name: id, rate_limit: BOUNDLESS })),
    );
    const keys: string[] = [];
    for (let at = 0; at < count; at += AT_ONCE) {
      keys.push(...(await Promise.all(ids.slice(at, at + AT_ONCE).map((id) => createKey(operator, id)))));
    }
    return keys;
  } finally {
    operator.close();
  }
}

/** CPU milliseconds of a request; requests take the keys, and the gateways, in turns. The load grows with the gateways. */
async function cost(system: System, keys: string[]): Promise<number> {
  const urls = system.apis.map((origin) => `${origin}/v1/calls?${RANGE}`);
  const { total } = await measure(
    (n) => urls[n % urls.length]!,
    (n) => ({ authorization: `Bearer ${keys[n % keys.length]}` }),
    { requests: REQUESTS * urls.length, concurrency: 8 * urls.length },
    system.pids,
  );
  return total;
}

/** Prints a row for each value, measured in turns. The first round fills caches. */
async function table(name: string, values: number[], measured: (value: number) => Promise<number>): Promise<void> {
  const costs = new Map(values.map((value) => [value, [] as number[]]));
  for (let round = 0; round <= ROUNDS; round++) {
    for (const value of values) {
      const milliseconds = await measured(value);
      if (round > 0) costs.get(value)!.push(milliseconds);
    }
  }
  const first = median(costs.get(values[0]!)!);
  for (const [value, all] of costs) {
    const rounds = all.map((each) => each.toFixed(2)).join(', ');
    const middle = median(all);
    console.log(
      `${name.padEnd(20)} ${String(value).padStart(9)}  ${middle.toFixed(2)} ms (${rounds})  ${(middle / first).toFixed(2)}`,
    );
  }
}
