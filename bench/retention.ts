// Measures how retention affects readers while it deletes half of an organization's calls.
//
//   node bench/retention.ts [--rows 1000000] [--per-second 20] [--seconds 60]
//
// Starts the system itself; a million calls take 3 GB. Readers of the organization, and of a second one with the same ids, request pages of the list, a
// call and a page of changes, for `seconds` before and after a run of retention, and for 10 s at a time during the run, which pauses for every other 10 s.
// So p99 is compared between times at which the machine is equally busy. Prints p50 and p99, failed requests, and what is left. Goals: no request fails,
// and p99 during the deletion is at most twice that during its pauses. Exits with 1 if one is missed.
import { getPriority } from 'node:os';
import { openSession } from '@crs/testing/sql';
import { countStatuses, describe, runOffers, type Offered } from './offer.ts';
import { printFigure, quantile, readOptions } from './report.ts';
import { seedCalls, seededId } from './seed.ts';
import { bearer, createOrganization, startSystem } from './system.ts';

const { rows, 'per-second': perSecond, seconds } = readOptions({ rows: 1_000_000, 'per-second': 20, seconds: 60 });
const [CLEARED, OTHER] = ['cleared', 'other'] as const;
const OTHER_ROWS = Math.min(rows, 100_000);
const DAYS = 1_000;
const NOW = new Date();
const RANGE = `start_date=${new Date(NOW.getTime() - DAYS * 86_400_000).toISOString()}&end_date=${NOW.toISOString()}`;
const WINDOW_SECONDS = 10;
/** What readers request, by name. */
const PATHS = {
  'first page': `/calls?${RANGE}`,
  'page 300': `/calls?${RANGE}&page=300&per_page=50`,
  call: `/calls/${seededId(7)}`,
  changes: '/changes?limit=100',
};

/** The responses by the name of the path. */
type Readings = Map<string, Offered>;

/** A pass of retention over all calls, as `crs retention run` makes it. */
interface Pass {
  due: number;
  deleted: number;
  /** Where it goes on. Undefined: it is complete. */
  after: string | undefined;
  seconds: number;
}

const system = await startSystem();
const database = await openSession(system.databaseUrl);
try {
  const settings = { retain_calls: `${DAYS / 2}d`, retain_by: 'created', retain_per_day: rows };
  const keys = [(await createOrganization(system, CLEARED, [], settings)).key, (await createOrganization(system, OTHER)).key];
  await seedCalls(system, { organizations: [CLEARED], rows, before: NOW, days: DAYS, feed: true });
  await seedCalls(system, { organizations: [OTHER], rows: OTHER_ROWS, before: NOW, days: DAYS, feed: true });
  console.log(`${rows} calls in one organization, ${OTHER_ROWS} in another`);

  await read(keys, 5);
  const before = await read(keys, seconds);
  const counted = await advance({ due: 0, deleted: 0, after: '', seconds: 0 }, Infinity);
  const pass: Pass = { due: 0, deleted: 0, after: '', seconds: 0 };
  const [during, paused]: [Readings, Readings] = [new Map(), new Map()];
  while (pass.after !== undefined) {
    const [readings] = await Promise.all([read(keys, WINDOW_SECONDS), advance(pass, WINDOW_SECONDS)]);
    add(during, readings);
    add(paused, await read(keys, WINDOW_SECONDS));
  }
  const after = await read(keys, seconds);
  console.log(
    `${counted.due} due calls counted in ${counted.seconds.toFixed(0)} s, ${pass.deleted} deleted in ${pass.seconds.toFixed(0)} s`,
  );
  for (const [part, readings] of Object.entries({ before, during, paused, after })) print(part, readings);

  const all = [before, during, paused, after].flatMap((readings) => [...readings.values()]);
  const failed = all.reduce((sum, each) => sum + failures(each), 0);
  const [left, others] = [await countCalls(keys[0]!), await countCalls(keys[1]!)];
  const [feed] = await database.query<{ entries: number }>(
    'select count(*)::int as entries from calls.changes where organization = $1 and deleted',
    [CLEARED],
  );
  console.log(`${failed} failed requests, ${left} calls left and ${others} in the other, ${feed!.entries} deletions in the feed`);
  const ratio = p99(during) / p99(paused);
  printFigure('p99 during the deletion to that in its pauses', [ratio], { atMost: 2 });
  printFigure('p99 during the deletion to that before', [p99(during) / p99(before)], { atMost: 2 });
  const isExact =
    pass.due === pass.deleted && left === rows - pass.deleted && others === OTHER_ROWS && feed!.entries === pass.deleted;
  if (!isExact) console.log('The counts differ.');
  process.exitCode = failed === 0 && ratio <= 2 && isExact ? 0 : 1;
} finally {
  await database.close();
  await system.stop();
}

async function read(keys: string[], duration: number): Promise<Readings> {
  const offers = Object.values(PATHS).map((path) => ({
    targets: [{ url: `${system.api}/v1${path}` }],
    credentials: keys,
    perSecond: perSecond / Object.keys(PATHS).length,
    seconds: duration,
    concurrency: 64,
    nice: getPriority(),
  }));
  const results = await runOffers(...offers);
  return new Map(Object.keys(PATHS).map((name, i) => [name, results[i]!]));
}

/** Goes on with a pass for about as many seconds. */
async function advance(pass: Pass, most: number): Promise<Pass> {
  const { calls, operator } = system.operator;
  const started = performance.now();
  const elapsed = () => (performance.now() - started) / 1_000;
  do {
    const { due, deleted, next } = await calls.runRetention({ after: pass.after ?? '' }, await operator(CLEARED));
    pass.due += due;
    pass.deleted += deleted;
    pass.after = next === '' ? undefined : next;
  } while (pass.after !== undefined && elapsed() < most);
  pass.seconds += elapsed();
  return pass;
}

function add(sum: Readings, readings: Readings): void {
  for (const [name, offered] of readings) {
    const known = sum.get(name);
    sum.set(name, known ? combine([known, offered]) : offered);
  }
}

function combine(parts: Offered[]): Offered {
  const statuses: Offered['statuses'] = {};
  for (const part of parts)
    for (const [status, count] of Object.entries(part.statuses)) statuses[status] = (statuses[status] ?? 0) + count;
  return { statuses, times: parts.flatMap(({ times }) => times), seconds: parts.reduce((sum, each) => sum + each.seconds, 0) };
}

function print(part: string, readings: Readings): void {
  console.log(`${part}: p99 ${p99(readings).toFixed(1)} ms`);
  for (const [name, offered] of readings) console.log(`  ${name.padEnd(11)} ${describe(offered)}, ${countStatuses(offered)}`);
}

function p99(readings: Readings): number {
  return quantile(combine([...readings.values()]).times, 0.99);
}

function failures({ statuses }: Offered): number {
  return Object.entries(statuses).reduce((sum, [status, count]) => (status === '200' ? sum : sum + count), 0);
}

async function countCalls(key: string): Promise<number> {
  const response = await fetch(`${system.api}/v1/calls?${RANGE}`, { headers: bearer(key) });
  return ((await response.json()) as { pagination: { total_items: number } }).pagination.total_items;
}
