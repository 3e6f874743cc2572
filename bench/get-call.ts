// Compares GET /v1/calls/{call_id} with a baseline Express server that returns the same bytes from one query.
//
//   node bench/get-call.ts [--requests 2000] [--rounds 5]
//
// Starts the system itself. Linux only. Reads a small call and one with a transcript of a megabyte, with eight concurrent requests, in full and with the
// `ETag` of an earlier response. Prints the CPU milliseconds of a request and its p50 and p99 in each round, the ratio of CPU, and for the large call the
// ratio of p99 to p50, with their goals.
import { measure } from './load.ts';
import { printFigure, printResult, readOptions, repeat } from './report.ts';
import { startBare, storeBare } from './start-bare.ts';
import { bearer, createOrganization, startSystem } from './system.ts';

const { requests, rounds } = readOptions({ requests: 2_000, rounds: 5 });
const CONCURRENCY = 8;
const CALLS = 1_000;
const TURN = 'What was said, word by word. '.repeat(36);
const LARGE = 'large';

function call(id: string, turns: number): object {
  return {
    type: 'call',
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
  const calls = Array.from({ length: CALLS }, (_, n) => call(`call_${n}`, 2));
  const { key } = await createOrganization(system, 'bench', [...calls, call(LARGE, 1_000)]);
  const ids = ['call_7', LARGE];
  const texts: string[] = [];
  for (const id of ids) texts.push(await (await fetch(`${system.api}/v1/calls/${id}`, { headers: bearer(key) })).text());
  await storeBare(system, texts);
  const bare = await startBare('bare-details.ts', system.databaseUrl);
  for (const [index, id] of ids.entries()) {
    const [ours, theirs] = [`${system.api}/v1/calls/${id}`, `${bare.origin}/details/${index + 1}`];
    for (const isKnown of [false, true]) {
      const sent = { requests: id === LARGE ? requests / 10 : requests, concurrency: CONCURRENCY, status: isKnown ? 304 : 200 };
      const headersFor = async (url: string, headers = {}) => ({ ...headers, ...(isKnown && (await tagOf(url, headers))) });
      const results = await repeat(rounds, async () => ({
        theirs: await measure(theirs, await headersFor(theirs), sent, bare.pidsWith(system)),
        ours: await measure(ours, await headersFor(ours, bearer(key)), sent, system.pids),
      }));
      for (const each of results) {
        printResult('bare', each.theirs);
        printResult('ours', each.ours);
      }
      const name = `${(texts[index]!.length / 1024).toFixed(1)} KiB, ${isKnown ? 'not modified' : 'whole'}`;
      const cpu = results.map((each) => each.ours.total / each.theirs.total);
      printFigure(`${name}: CPU to baseline server`, cpu, { atMost: 3 });
      if (id !== LARGE) continue;
      const spread = results.map((each) => each.ours.p99 / each.ours.p50);
      printFigure(`${name}: p99 to p50 of ${CONCURRENCY} at once`, spread, { atMost: 3 });
    }
  }
  bare.stop();
} finally {
  await system.stop();
}

async function tagOf(url: string, headers: Record<string, string>): Promise<Record<string, string>> {
  return { 'if-none-match': (await fetch(url, { headers })).headers.get('etag')! };
}
