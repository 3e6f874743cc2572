// Measures how retention affects readers while it deletes half of an organization's calls.
//
//   node bench/retention.ts [--rows 1000000] [--per-second 20] [--seconds 60]
//
// Starts the system itself; a million calls take 3 GB. Readers of the organization, and of a second one with the same ids, request pages of the list, a
// call and a page of changes: before, during and after a run of retention that deletes the older half of the calls. Prints p50 and p99, failed requests,
// and what is left. Goals: no request fails, and p99 during the run is at most twice that before. Exits with 1 if one is missed.
import { getPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
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

const system = await startSystem();
const database = await openSession(system.databaseUrl);
try {
  const settings = { retain_calls: `${DAYS / 2}d`, retain_by: 'created', retain_per_day: rows };
  const cleared = await createOrganization(system, CLEARED, [], settings);
  const keys = [cleared.key, (await createOrganization(system, OTHER)).key];
  await seedCalls(system, { organizations: [CLEARED], rows, before: NOW, days: DAYS, feed: true });
  await seedCalls(system, { organizations: [OTHER], rows: OTHER_ROWS, before: NOW, days: DAYS, feed: true });
  console.log(`${rows} calls in one organization, ${OTHER_ROWS} in another`);

  await read(5);
  const before = await read(seconds);
  print('before', before);
  const counting = await during(retain);
  print(`counting ${counting.result.due} due calls: ${counting.seconds.toFixed(0)} s`, counting.read);
  const deleting = await during(retain);
  const { due, deleted } = deleting.result;
  const perMinute = (deleted / deleting.seconds) * 60;
  print(`deleting ${deleted} of ${due}: ${deleting.seconds.toFixed(0)} s, ${perMinute.toFixed(0)} a minute`, deleting.read);
  const after = await read(seconds);
  print('after', after);

  const failed = [before, counting.read, deleting.read, after].map(failures).reduce((sum, count) => sum + count, 0);
  const left = await countCalls(keys[0]!);
  const others = await countCalls(keys[1]!);
  const [feed] = await database.query<{ entries: number }>(
    'select count(*)::int as entries from calls.changes where organization = $1 and deleted',
    [CLEARED],
  );
  console.log(`${failed} failed requests, ${left} calls left and ${others} in the other, ${feed!.entries} deletions in the feed`);
  const ratio = quantile(deleting.read.times, 0.99) / quantile(before.times, 0.99);
  printFigure('p99 during the deletion to that before', [ratio], { atMost: 2 });
  const isExact = due === deleted && left === rows - deleted && others === OTHER_ROWS && feed!.entries === deleted;
  if (!isExact) console.log('The counts differ.');
  process.exitCode = failed === 0 && ratio <= 2 && isExact ? 0 : 1;

  function print(part: string, offered: Offered): void {
    console.log(`${part}: ${describe(offered)}, ${countStatuses(offered)}`);
  }

  function read(duration: number): Promise<Offered> {
    const paths = [`/calls?${RANGE}`, `/calls/${seededId(7)}`, `/calls?${RANGE}&page=300&per_page=50`, '/changes?limit=100'];
    const targets = paths.map((path) => ({ url: `${system.api}/v1${path}` }));
    const offer = { targets, credentials: keys, perSecond, seconds: duration, concurrency: 64, nice: getPriority() };
    return runOffers(offer).then(([offered]) => offered!);
  }

  /** Keeps readers reading while work is done. */
  async function during<T>(work: () => Promise<T>): Promise<{ result: T; seconds: number; read: Offered }> {
    const all: Offered = { statuses: {}, times: [], seconds: 0 };
    let isDone = false;
    const readers = (async () => {
      while (!isDone) {
        const offered = await read(10);
        for (const [status, count] of Object.entries(offered.statuses))
          all.statuses[status] = (all.statuses[status] ?? 0) + count;
        for (const time of offered.times) all.times.push(time);
      }
    })();
    // The load begins when its process has started.
    await sleep(2_000);
    const started = performance.now();
    const result = await work();
    const taken = (performance.now() - started) / 1_000;
    isDone = true;
    await readers;
    return { result, seconds: taken, read: all };
  }
} finally {
  await database.close();
  await system.stop();
}

/** Makes a pass over all calls, as `crs retention run` does. */
async function retain(): Promise<{ due: number; deleted: number }> {
  const { calls, operator } = system.operator;
  const total = { due: 0, deleted: 0 };
  let after = '';
  do {
    const { due, deleted, next } = await calls.runRetention({ after }, await operator(CLEARED));
    total.due += due;
    total.deleted += deleted;
    after = next;
  } while (after !== '');
  return total;
}

const failures = ({ statuses }: Offered) =>
  Object.entries(statuses).reduce((sum, [status, count]) => (status === '200' ? sum : sum + count), 0);

async function countCalls(key: string): Promise<number> {
  const response = await fetch(`${system.api}/v1/calls?${RANGE}`, { headers: bearer(key) });
  return ((await response.json()) as { pagination: { total_items: number } }).pagination.total_items;
}
