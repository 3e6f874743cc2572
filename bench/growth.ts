// Measures whether a request costs more in a larger system: with more calls, with more organizations, with more processes.
//
//   node bench/growth.ts [--rows 1000000] [--organizations 10000] [--requests 1000] [--rounds 3]
//
// Starts the system itself. Linux only; a million calls take 3 GB. Requests the first page of the list, with eight concurrent requests per gateway. Each row
// of its table has the CPU milliseconds of all processes for a request in each round, the median, and its ratio to the first row of the section. Goal: with
// more processes, within 10 %.
import { createKey } from '@crs/testing/credentials';
import { load } from '@crs/testing/load';
import { measure } from './load.ts';
import { median, readOptions } from './report.ts';
import { seedCalls } from './seed.ts';
import { BOUNDLESS, createOrganization, startSystem, type System } from './system.ts';

const defaults = { rows: 1_000_000, organizations: 10_000, requests: 1_000, rounds: 3 };
const { rows: most, organizations, requests, rounds } = readOptions(defaults);
const SIZES = [1_000, 100_000, 1_000_000, 10_000_000].filter((rows) => rows <= most);
const ORGANIZATIONS = [1, 100, 10_000].filter((count) => count <= organizations);
/** Number of calls of each of the many organizations. */
const CALLS = 50;
const PROCESSES = [1, 2, 4];
/** Number of keys that are created concurrently. */
const AT_ONCE = 50;
const SPREAD = { before: new Date(), days: 1_000 };
const RANGE = 'start_date=2000-01-01T00:00:00Z&end_date=2100-01-01T00:00:00Z';

await withSystem(async (system) => {
  const keys = new Map<number, string>();
  for (const rows of SIZES) {
    const id = `of-${rows}-calls`;
    keys.set(rows, (await createOrganization(system, id)).key);
    await seedCalls(system, { ...SPREAD, organizations: [id], rows });
  }
  await table('calls', SIZES, (rows) => cost(system, [keys.get(rows)!]));
});

await withSystem(async (system) => {
  const ids = Array.from({ length: ORGANIZATIONS.at(-1)! }, (_, n) => `many-${n + 1}`);
  const keys = await createMany(system, ids);
  await seedCalls(system, { ...SPREAD, organizations: ids, rows: CALLS });
  await table('organizations', ORGANIZATIONS, (count) => cost(system, keys.slice(0, count)));
});

const systems = new Map<number, { system: System; key: string }>();
for (const count of PROCESSES) {
  const system = await startSystem({}, { 'api-gateway': count, calls: count });
  const { key } = await createOrganization(system, 'one');
  await seedCalls(system, { ...SPREAD, organizations: ['one'], rows: 1_000 });
  systems.set(count, { system, key });
}
await table('gateways and calls', PROCESSES, async (count) => {
  const { system, key } = systems.get(count)!;
  return cost(system, [key]);
});
for (const { system } of systems.values()) await system.stop();

async function withSystem(work: (system: System) => Promise<void>): Promise<void> {
  const system = await startSystem();
  try {
    await work(system);
  } finally {
    await system.stop();
  }
}

/** Creates organizations, the first one with a user. @returns a key of each */
async function createMany(system: System, [first, ...others]: string[]): Promise<string[]> {
  const { operator } = system;
  const keys = [(await createOrganization(system, first!)).key];
  await load(
    operator,
    others.map((id) => ({ type: 'organization', id, name: id, rate_limit: BOUNDLESS })),
  );
  for (let at = 0; at < others.length; at += AT_ONCE) {
    keys.push(...(await Promise.all(others.slice(at, at + AT_ONCE).map((id) => createKey(operator, id)))));
  }
  return keys;
}

/** Measures the CPU milliseconds of a request. Requests alternate between the keys and the gateways. The load grows with the number of gateways. */
async function cost(system: System, keys: string[]): Promise<number> {
  const urls = system.apis.map((origin) => `${origin}/v1/calls?${RANGE}`);
  const { total } = await measure(
    urls,
    {},
    { requests: requests * urls.length, concurrency: 8 * urls.length, credentials: keys },
    system.pids,
  );
  return total;
}

/** Measures the values alternately, and prints a row for each. The first round only fills caches. */
async function table(name: string, values: number[], measured: (value: number) => Promise<number>): Promise<void> {
  const costs = new Map(values.map((value) => [value, [] as number[]]));
  for (let round = 0; round <= rounds; round++) {
    for (const value of values) {
      const milliseconds = await measured(value);
      if (round > 0) costs.get(value)!.push(milliseconds);
    }
  }
  const first = median(costs.get(values[0]!)!);
  for (const [value, all] of costs) {
    const each = all.map((milliseconds) => milliseconds.toFixed(2)).join(', ');
    const middle = median(all);
    console.log(
      `${name.padEnd(20)} ${String(value).padStart(9)}  ${middle.toFixed(2)} ms (${each})  ${(middle / first).toFixed(2)}`,
    );
  }
}
