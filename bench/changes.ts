// Measures GET /v1/changes?expand=detail&limit=50 on an organization with many calls.
//
//   node bench/changes.ts [--rows 1000000] [--requests 1000] [--rounds 3]
//
// Starts the system itself. Linux only. Prints the time and CPU time of a request for the first and the last page, and the ratio of the whole system's CPU
// to that of a baseline Express server that returns the same bytes from one query. Goals: last page to first page at most 1.5 (CPU and p50), and at most
// 3 times the baseline server's CPU.
import { measure } from './load.ts';
import { printFigure, printResult, readOptions, repeat } from './report.ts';
import { seedCalls } from './seed.ts';
import { startBare, storeBare } from './start-bare.ts';
import { bearer, createOrganization, startSystem } from './system.ts';

const { rows, requests, rounds } = readOptions({ rows: 1_000_000, requests: 1_000, rounds: 3 });
const LIMIT = 50;
const TRANSCRIPT_TURNS = 20;

interface Page {
  data: object[];
  next_cursor: string;
  has_more: boolean;
}

const system = await startSystem();
try {
  const headers = bearer((await createOrganization(system, 'big')).key);
  await seedCalls(system, {
    organizations: ['big'],
    rows,
    before: new Date(),
    days: 1_000,
    turns: TRANSCRIPT_TURNS,
    feed: true,
  });
  const changes = `${system.api}/v1/changes`;
  const read = async (url: string) => (await (await fetch(url, { headers })).json()) as Page;
  const firstPage = `${changes}?expand=detail&limit=${LIMIT}`;
  let cursor = '';
  for (let left = rows - LIMIT; left > 0; left -= 1_000) {
    ({ next_cursor: cursor } = await read(`${changes}?limit=${Math.min(left, 1_000)}${cursor && `&cursor=${cursor}`}`));
  }
  const lastPage = `${firstPage}&cursor=${cursor}`;
  const [first, last] = [await read(firstPage), await read(lastPage)];
  if (first.data.length !== LIMIT || last.data.length !== LIMIT || last.has_more) throw new Error('the pages are not full');
  const texts = first.data.map((change) => JSON.stringify(change));
  await storeBare(system, texts);

  const bare = await startBare('bare-details.ts', system.databaseUrl);
  const sent = { requests, concurrency: 8 };
  const results = await repeat(rounds, async () => ({
    theirs: await measure(`${bare.origin}/details?after=0`, {}, sent, bare.pidsWith(system)),
    first: await measure(firstPage, headers, sent, system.pids),
    last: await measure(lastPage, headers, sent, system.pids),
  }));
  bare.stop();
  for (const each of results) {
    printResult('bare', each.theirs);
    printResult('first page', each.first);
    printResult('last page', each.last);
  }
  console.log(`\n${rows} calls, ${LIMIT} details of ${(texts.join('').length / LIMIT / 1024).toFixed(1)} KiB a page`);
  const figure = (name: string, goal: { atMost: number }, of: (round: (typeof results)[number]) => number) =>
    printFigure(name, results.map(of), goal);
  figure('CPU of the last page to the first', { atMost: 1.5 }, (each) => each.last.total / each.first.total);
  figure('p50 of the last page to the first', { atMost: 1.5 }, (each) => each.last.p50 / each.first.p50);
  figure('CPU of a page, whole system to baseline server', { atMost: 3 }, (each) => each.first.total / each.theirs.total);
} finally {
  await system.stop();
}
