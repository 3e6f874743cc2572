// Measures how much a crowd at a gateway slows others down: their times with and without the crowd, in turns.
//
//   node bench/isolation.ts [--gateway api|tools] [--rounds 5] [--seconds 60] [--heavy]
//
// It starts the system itself. At both gateways, or at the named one, four organizations list and read calls at 9.5 requests a second each, near their
// limit of 600 per 60 s. In every other part of a round, a crowd sends 600 requests a second: a fifth organization 500, which is 50 times its limit, and
// strangers with an unknown credential 100. Each window's 600 requests of the fifth organization are served, and the rest is refused. With --heavy the
// fifth has no limit in effect, and keeps all its slots busy with pages of 200 calls (at the tools: 100) and transcripts of a megabyte.
//
// Prints p50 and p99 of each part and the CPU seconds of the processes, and for each round the ratios of p50 and p99 with the crowd to those without,
// then their medians and the worst (promised without --heavy: below 1.10 at p99, at most 1.05 at p50). BENCH_PROFILE=<service> writes that service's
// CPU profile.
import { parseArgs } from 'node:util';
import { connect } from '@crs/crs/connection';
import { createApiKey } from '@crs/kit/product/api-key';
import { createKey, createToken } from '@crs/testing/credentials';
import { load } from '@crs/testing/load';
import { MCP_HEADERS, toolCall } from '@crs/testing/mcp';
import { OPERATOR_CREDENTIAL } from '@crs/testing/setup';
import type { Target } from './offer.ts';
import { countStatuses, runOffer } from './run-offer.ts';
import { seedCalls } from './seed.ts';
import { median, quantile, worst } from './statistics.ts';
import { cpuSeconds, startSystem } from './system.ts';

const { values: options } = parseArgs({
  options: {
    gateway: { type: 'string' },
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
const STRANGERS_PER_SECOND = 100;
const ROWS = 20_000;
const DAYS = 1_000;
/** More than a load generator takes to start. */
const START_MS = 2_000;
const NOW = new Date();
const LIMIT = { requests: 600, period_seconds: 60 };
const BOUNDLESS = { requests: 1_000_000_000, period_seconds: 60 };
const MEGABYTE = 'What was said, word by word. '.repeat(36_000);
const EMAIL = 'ann@bench.example';
const IDS = ['call_000000000007', 'call_000000001234', 'call_000000009999'];

/** A gateway's load: the targets of its clients, and what a credential of an organization is. */
interface Scene {
  headers?: Record<string, string>;
  calm: Target[];
  crowd: Target[];
  heavy: Target[];
  credentials: Map<string, string>;
}

const shown = (times: number[]) =>
  [0.5, 0.9, 0.99].map((part) => `p${part * 100} ${quantile(times, part).toFixed(1).padStart(6)} ms`).join('  ');
const ratios = (of: number[]) => of.map((ratio) => ratio.toFixed(2)).join(', ');

const system = await startSystem();
const operator = connect({ addresses: system.admin, credential: OPERATOR_CREDENTIAL });
try {
  const [keys, tokens] = [new Map<string, string>(), new Map<string, string>()];
  for (const id of [...CALM, 'noisy']) {
    const limit = id === 'noisy' && options.heavy ? BOUNDLESS : LIMIT;
    await load(operator, [
      { type: 'organization', id, name: id, rate_limit: limit, tool_rate_limit: limit },
      { type: 'user', organization: id, email: EMAIL, name: 'Ann' },
    ]);
    await seedCalls(system.databaseUrl, { organization: id, rows: ROWS, before: NOW, days: DAYS });
    const own = { conducted_by: EMAIL, created_at: '2020-01-01T00:00:00Z' };
    await load(operator, [
      { type: 'call', organization: id, id: 'long', transcript: MEGABYTE, ...own },
      ...Array.from({ length: 200 }, (_, n) => ({ type: 'call', organization: id, id: `own_${n}`, ...own })),
    ]);
    keys.set(id, await createKey(operator, id));
    tokens.set(id, await createToken(operator, id, EMAIL));
  }
  if (options.gateway !== 'tools') await measureScene('api-gateway', restScene(system.api, keys));
  if (options.gateway !== 'api') await measureScene('tool-gateway', toolScene(system.tools, tokens));
} finally {
  operator.close();
  await system.stop();
}

function restScene(origin: string, credentials: Map<string, string>): Scene {
  const range = `start_date=${new Date(NOW.getTime() - DAYS * 86_400_000).toISOString()}&end_date=${NOW.toISOString()}`;
  const list = (page: number, perPage = 50) => ({ url: `${origin}/v1/calls?${range}&page=${page}&per_page=${perPage}` });
  const call = (id: string) => ({ url: `${origin}/v1/calls/${id}` });
  return {
    calm: [list(1), call(IDS[0]!), list(300), call(IDS[1]!), list(2), call(IDS[2]!)],
    crowd: [list(1), call(IDS[0]!)],
    heavy: [list(1, 200), call('long'), list(90, 200)],
    credentials,
  };
}

function toolScene(address: string, credentials: Map<string, string>): Scene {
  const use = (name: string, args: object) => ({ url: `http://${address}/mcp`, body: JSON.stringify(toolCall(name, args)) });
  const list = (limit: number) => use('list_calls', { limit });
  const call = (id: string) => use('get_call', { call_id: id });
  return {
    headers: MCP_HEADERS,
    calm: [list(50), call('own_7'), list(25), call('own_123')],
    crowd: [list(50), call('own_7')],
    heavy: [list(100), call('long')],
    credentials,
  };
}

async function measureScene(name: string, { headers = {}, credentials, ...targets }: Scene): Promise<void> {
  const calm = (seconds: number, beginsAt: number) =>
    runOffer({
      headers,
      beginsAt,
      targets: targets.calm,
      credentials: CALM.map((id) => credentials.get(id)!),
      seconds,
      perSecond: CALM_PER_SECOND * CALM.length,
      concurrency: 64,
      nice: -10,
    });
  const [noisy, stranger] = [credentials.get('noisy')!, createApiKey()];
  const strangersEach = NOISY_PER_SECOND / STRANGERS_PER_SECOND;
  const crowd = (beginsAt: number) =>
    runOffer({
      headers,
      beginsAt,
      targets: options.heavy ? targets.heavy : targets.crowd,
      credentials: options.heavy ? [noisy] : [stranger, ...Array.from({ length: strangersEach }, () => noisy)],
      seconds: SECONDS,
      ...(!options.heavy && { perSecond: NOISY_PER_SECOND + STRANGERS_PER_SECOND }),
      concurrency: options.heavy ? 64 : 128,
      nice: 5,
    });

  await calm(10, Date.now());
  const [p50s, p99s]: [number[], number[]] = [[], []];
  for (let round = 1; round <= ROUNDS; round++) {
    const times = { alone: [] as number[], crowded: [] as number[] };
    // The order changes from round to round, so that a trend favours neither.
    for (const part of round % 2 === 1 ? (['alone', 'crowded'] as const) : (['crowded', 'alone'] as const)) {
      const before = cpuSeconds(system.pids);
      const beginsAt = Date.now() + START_MS;
      const [measured, disturbing] = await Promise.all([
        calm(SECONDS, beginsAt),
        part === 'crowded' ? crowd(beginsAt) : undefined,
      ]);
      const after = cpuSeconds(system.pids);
      times[part] = measured.times;
      const cpu = [...after].map(([process, used]) => `${process} ${(used - before.get(process)!).toFixed(1)}`).join(', ');
      console.log(`${name}, round ${round}, ${part.padEnd(7)}  ${shown(measured.times)}  (${countStatuses(measured)})`);
      console.log(
        `  CPU seconds: ${cpu}${disturbing ? `; the crowd: ${countStatuses(disturbing)}, ${shown(disturbing.times)}` : ''}`,
      );
    }
    const ratio = (part: number) => quantile(times.crowded, part) / quantile(times.alone, part);
    p50s.push(ratio(0.5));
    p99s.push(ratio(0.99));
    console.log(`${name}, round ${round}: crowded to alone  p50 ${ratio(0.5).toFixed(2)}  p99 ${ratio(0.99).toFixed(2)}`);
  }
  const promised = (text: string) => (options.heavy ? '' : ` (${text})`);
  console.log(
    `${name}, p99: ${ratios(p99s)}; median ${median(p99s).toFixed(2)}, worst ${worst(p99s).toFixed(2)}${promised('below 1.10')}`,
  );
  console.log(
    `${name}, p50: ${ratios(p50s)}; median ${median(p50s).toFixed(2)}, worst ${worst(p50s).toFixed(2)}${promised('at most 1.05')}\n`,
  );
}
