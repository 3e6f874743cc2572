// Measures GET /v1/changes?expand=detail&limit=50 on an organization with many calls.
//
//   node bench/changes.ts [--rows 1000000] [--requests 1000] [--rounds 3]
//
// It starts the system itself and runs on Linux. Prints milliseconds and CPU milliseconds of a request for the first and the last page, and the CPU of
// the whole system as a ratio to a bare Express server that answers with the same bytes from one query. Promised: last page to first at
// most 1.5 (CPU and p50), and at most 3 times the bare server's CPU.
import { parseArgs } from 'node:util';
import { connect } from '@crs/crs/connection';
import { createKey } from '@crs/testing/credentials';
import { load } from '@crs/testing/load';
import { OPERATOR_CREDENTIAL } from '@crs/testing/setup';
import { measure, type Result } from './load.ts';
import { seedCalls, seedFeed } from './seed.ts';
import { startBare, storeBare } from './start-bare.ts';
import { median } from './statistics.ts';
import { startSystem } from './system.ts';

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    requests: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '3' },
  },
});
const ROWS = Number(options.rows);
const REQUESTS = Number(options.requests);
const ROUNDS = Number(options.rounds);
const CONCURRENCY = 8;
const LIMIT = 50;
const ORGANIZATION = 'big';
const TRANSCRIPT_TURNS = 20;

interface Page {
  cursor: string;
  hasMore: boolean;
  changes: string[];
}

async function read(url: string, headers: Record<string, string>): Promise<Page> {
  const answer = (await (await fetch(url, { headers })).json()) as { data: object[]; next_cursor: string; has_more: boolean };
  return { cursor: answer.next_cursor, hasMore: answer.has_more, changes: answer.data.map((change) => JSON.stringify(change)) };
}

function print(name: string, { p50, p99, cpu, total }: Result): void {
  const parts = [...cpu].map(([process, value]) => `${process} ${value.toFixed(2)}`).join('  ');
  console.log(`${name.padEnd(12)} p50 ${p50.toFixed(1)} ms  p99 ${p99.toFixed(1)} ms  CPU ${total.toFixed(2)} ms  (${parts})`);
}

const system = await startSystem();
try {
  const operator = connect({ addresses: system.admin, credential: OPERATOR_CREDENTIAL });
  await load(operator, [
    { type: 'organization', id: ORGANIZATION, name: 'Big', rate_limit: { requests: 1_000_000_000, period_seconds: 60 } },
  ]);
  const headers = { authorization: `Bearer ${await createKey(operator, ORGANIZATION)}` };
  operator.close();
  await seedCalls(system.databaseUrl, {
    organization: ORGANIZATION,
    rows: ROWS,
    before: new Date(),
    days: 1_000,
    turns: TRANSCRIPT_TURNS,
  });
  await seedFeed(system.databaseUrl, ORGANIZATION);

  const changes = `${system.api}/v1/changes`;
  const firstPage = `${changes}?expand=detail&limit=${LIMIT}`;
  let cursor = '';
  for (let left = ROWS - LIMIT; left > 0; left -= 1_000) {
    ({ cursor } = await read(`${changes}?limit=${Math.min(left, 1_000)}${cursor && `&cursor=${cursor}`}`, headers));
  }
  const lastPage = `${firstPage}&cursor=${cursor}`;
  const first = await read(firstPage, headers);
  const last = await read(lastPage, headers);
  if (first.changes.length !== LIMIT || last.changes.length !== LIMIT || last.hasMore) throw new Error('the pages are not full');
  await storeBare(system.databaseUrl, first.changes);

  const bare = await startBare('bare-details.ts', system.databaseUrl);
  const barePids = new Map([
    ['bare', bare.pid],
    ['postgres', system.pids.get('postgres')!],
  ]);
  const asked = { requests: REQUESTS, concurrency: CONCURRENCY };
  const ratios: { bare: number; cpu: number; p50: number }[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const theirs = await measure(`${bare.origin}/details?after=0`, {}, asked, barePids);
    const oursFirst = await measure(firstPage, headers, asked, system.pids);
    const oursLast = await measure(lastPage, headers, asked, system.pids);
    // The first round fills caches.
    if (round === 0) continue;
    print('bare', theirs);
    print('first page', oursFirst);
    print('last page', oursLast);
    ratios.push({
      bare: oursFirst.total / theirs.total,
      cpu: oursLast.total / oursFirst.total,
      p50: oursLast.p50 / oursFirst.p50,
    });
  }
  bare.stop();
  const of = (name: keyof (typeof ratios)[number]) => median(ratios.map((ratio) => ratio[name])).toFixed(2);
  const bytes = first.changes.reduce((sum, change) => sum + change.length, 0);
  console.log(
    `\n${ROWS} calls, ${LIMIT} details of ${(bytes / LIMIT / 1024).toFixed(1)} KiB a page, medians of ${ROUNDS} rounds`,
  );
  console.log(`last page to first: CPU ${of('cpu')}, p50 ${of('p50')} (at most 1.5)`);
  console.log(`CPU of a page, whole system to bare server: ${of('bare')} (at most 3)`);
} finally {
  await system.stop();
}
