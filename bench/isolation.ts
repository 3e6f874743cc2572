// Measures how much a flood of requests from one organization slows the others down: their times with and without the flood, in turns.
//
//   node bench/isolation.ts [--rounds 5] [--seconds 60] [--heavy]
//
// It starts the system itself. Four organizations list and read calls at 9.5 requests a second each, near their limit of 600 per 60 s. In every other
// part of a round, a fifth organization sends 500 a second, 50 times that limit: each window's 600 requests are served at once, and the rest is refused.
// With --heavy the fifth has no limit in effect, and keeps all its slots busy with pages of 200 calls and transcripts of a megabyte. Prints p50 and p99 of each
// part, and the ratio of p99 with the flood to p99 without it (promised: below 1.10, without --heavy).
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { connect } from '@crs/crs/connection';
import { createKey } from '@crs/testing/credentials';
import { load } from '@crs/testing/load';
import { OPERATOR_CREDENTIAL } from '@crs/testing/setup';
import type { Offer, Offered } from './offer.ts';
import { seedCalls } from './seed.ts';
import { quantile } from './statistics.ts';
import { cpuSeconds, startSystem } from './system.ts';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '60' },
    heavy: { type: 'boolean', default: false },
  },
});
const ROUNDS = Number(options.rounds);
const SECONDS = Number(options.seconds);
const CALM = ['calm-1', 'calm-2', 'calm-3', 'calm-4'];
const CALM_PER_SECOND = 9.5;
const NOISY_PER_SECOND = 500;
const ROWS = 20_000;
const DAYS = 1_000;
const NOW = new Date();
const LIMIT = { requests: 600, period_seconds: 60 };
const BOUNDLESS = { requests: 1_000_000_000, period_seconds: 60 };
const MEGABYTE = 'What was said, word by word. '.repeat(36_000);

async function offer(wanted: Offer): Promise<Offered> {
  const program = fileURLToPath(new URL('offer.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [program, JSON.stringify(wanted)], { maxBuffer: 2 ** 28 });
  return JSON.parse(stdout) as Offered;
}

const shown = (times: number[]) =>
  [0.5, 0.9, 0.99].map((part) => `p${part * 100} ${quantile(times, part).toFixed(1).padStart(6)} ms`).join('  ');
const counts = ({ statuses }: Offered) =>
  Object.entries(statuses)
    .map(([status, count]) => `${count} x ${status}`)
    .join(', ');

const system = await startSystem();
const operator = connect({ addresses: system.admin, credential: OPERATOR_CREDENTIAL });
try {
  const keys = new Map<string, string>();
  for (const id of [...CALM, 'noisy']) {
    const rate_limit = id === 'noisy' && options.heavy ? BOUNDLESS : LIMIT;
    await load(operator, [{ type: 'organization', id, name: id, rate_limit }]);
    await seedCalls(system.databaseUrl, { organization: id, rows: ROWS, before: NOW, days: DAYS });
    const long = { type: 'call', organization: id, id: 'long', created_at: '2020-01-01T00:00:00Z', transcript: MEGABYTE };
    await load(operator, [long]);
    keys.set(id, await createKey(operator, id));
  }
  const range = `start_date=${new Date(NOW.getTime() - DAYS * 86_400_000).toISOString()}&end_date=${NOW.toISOString()}`;
  const list = (page: number, perPage = 50) => `${system.api}/v1/calls?${range}&page=${page}&per_page=${perPage}`;
  const call = (id: string) => `${system.api}/v1/calls/${id}`;
  const calm = (seconds: number) =>
    offer({
      urls: [list(1), call('call_000000000007'), list(300), call('call_000000001234'), list(2), call('call_000000009999')],
      keys: CALM.map((id) => keys.get(id)!),
      seconds,
      perSecond: CALM_PER_SECOND * CALM.length,
      concurrency: 64,
      nice: -10,
    });
  const crowd = () =>
    offer({
      urls: options.heavy ? [list(1, 200), call('long'), list(90, 200)] : [list(1), call('call_000000000007')],
      keys: [keys.get('noisy')!],
      seconds: SECONDS,
      ...(!options.heavy && { perSecond: NOISY_PER_SECOND }),
      concurrency: options.heavy ? 64 : 128,
      nice: 5,
    });

  await calm(10);
  const alone: number[] = [];
  const beside: number[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    // The order changes from round to round, so that a trend favours neither.
    for (const isCrowded of round % 2 === 1 ? [false, true] : [true, false]) {
      const before = cpuSeconds(system.pids);
      const [measured, disturbing] = await Promise.all([calm(SECONDS), isCrowded ? crowd() : undefined]);
      const after = cpuSeconds(system.pids);
      (isCrowded ? beside : alone).push(...measured.times);
      const cpu = [...after].map(([name, used]) => `${name} ${(used - before.get(name)!).toFixed(1)}`).join(', ');
      console.log(`round ${round}, ${isCrowded ? 'crowded' : 'alone  '}  ${shown(measured.times)}  (${counts(measured)})`);
      console.log(`  CPU seconds: ${cpu}${disturbing ? `; the crowd: ${counts(disturbing)}, ${shown(disturbing.times)}` : ''}`);
    }
  }
  console.log(`alone    ${shown(alone)}  of ${alone.length}`);
  console.log(`crowded  ${shown(beside)}  of ${beside.length}`);
  const ratio = quantile(beside, 0.99) / quantile(alone, 0.99);
  console.log(`p99 beside a crowd to p99 alone: ${ratio.toFixed(2)}${options.heavy ? '' : ' (below 1.10)'}`);
} finally {
  operator.close();
  await system.stop();
}
