// Measures GET /v1/calls/{call_id} against a bare Express server that answers with the same bytes from one query.
//
//   node bench/get-call.ts [--requests 2000] [--rounds 5]
//
// It starts the system itself and runs on Linux. A small call and one with a transcript of a megabyte are read, each whole and by its `ETag`, as a
// client does that has it already. Prints the CPU milliseconds of a request in each round, and the promised ratios.
import { parseArgs } from 'node:util';
import { connect } from '@crs/crs/connection';
import { createKey } from '@crs/testing/credentials';
import { load } from '@crs/testing/load';
import { OPERATOR_CREDENTIAL } from '@crs/testing/setup';
import { measure, type Result } from './load.ts';
import { startBare, storeBare } from './start-bare.ts';
import { median, worst } from './statistics.ts';
import { startSystem } from './system.ts';

const { values: options } = parseArgs({
  options: { requests: { type: 'string', default: '2000' }, rounds: { type: 'string', default: '5' } },
});
const REQUESTS = Number(options.requests);
const ROUNDS = Number(options.rounds);
const CONCURRENCY = 8;
const CALLS = 1_000;
const TURN = 'What was said, word by word. '.repeat(36);
const LARGE = 'large';

function call(id: string, turns: number): object {
  return {
    type: 'call',
    organization: 'bench',
    id,
    date: '2026-01-01T00:00:00Z',
    expert: { name: 'Ada Example', job_title: 'Head of sales', organization: 'Example', country: 'Turkey' },
    summary: 'Summary of what was said in this call. '.repeat(8),
    ktas: '- One thing that was learned.\n- And another.',
    duration_minutes: 45,
    transcript: Array.from({ length: turns }, (_, n) => ({ speaker: `Speaker ${n % 2}`, start_seconds: n * 7, text: TURN })),
  };
}

const system = await startSystem();
try {
  const operator = connect({ addresses: system.admin, credential: OPERATOR_CREDENTIAL });
  await load(operator, [
    { type: 'organization', id: 'bench', name: 'Bench', rate_limit: { requests: 1_000_000_000, period_seconds: 60 } },
    ...Array.from({ length: CALLS }, (_, n) => call(`call_${n}`, 2)),
    call(LARGE, 1_000),
  ]);
  const headers = { authorization: `Bearer ${await createKey(operator, 'bench')}` };
  operator.close();
  const ids = ['call_7', LARGE];
  const texts: string[] = [];
  for (const id of ids) texts.push(await (await fetch(`${system.api}/v1/calls/${id}`, { headers })).text());
  await storeBare(system.databaseUrl, texts);
  const bare = await startBare('bare-details.ts', system.databaseUrl);
  const barePids = new Map([
    ['bare', bare.pid],
    ['postgres', system.pids.get('postgres')!],
  ]);

  for (const [index, id] of ids.entries()) {
    const [ours, theirs] = [`${system.api}/v1/calls/${id}`, `${bare.origin}/details/${index + 1}`];
    const size = `${(texts[index]!.length / 1024).toFixed(1)} KiB`;
    const requests = id === LARGE ? REQUESTS / 10 : REQUESTS;
    for (const known of [false, true]) {
      const ratios: number[] = [];
      const asked = { requests, concurrency: CONCURRENCY, status: known ? 304 : 200 };
      // The first round fills caches.
      for (let round = 0; round <= ROUNDS; round++) {
        const bareResult = await measure(theirs, known ? await tagOf(theirs, {}) : {}, asked, barePids);
        const result = await measure(ours, { ...headers, ...(known && (await tagOf(ours, headers))) }, asked, system.pids);
        if (round === 0) continue;
        print('bare', bareResult);
        print('ours', result);
        ratios.push(result.total / bareResult.total);
      }
      const shown = ratios.map((ratio) => ratio.toFixed(2)).join(', ');
      console.log(
        `${size}, ${known ? 'not modified' : 'whole'}: CPU to bare server ${median(ratios).toFixed(2)} (at most 3; rounds ${shown}; worst ${worst(ratios).toFixed(2)})\n`,
      );
    }
  }
  bare.stop();
} finally {
  await system.stop();
}

async function tagOf(url: string, headers: Record<string, string>): Promise<Record<string, string>> {
  return { 'if-none-match': (await fetch(url, { headers })).headers.get('etag')! };
}

function print(name: string, { p50, p99, cpu, total }: Result): void {
  const parts = [...cpu].map(([process, value]) => `${process} ${value.toFixed(2)}`).join('  ');
  console.log(`${name}  p50 ${p50.toFixed(1)} ms  p99 ${p99.toFixed(1)} ms  CPU ${total.toFixed(2)} ms  (${parts})`);
}
