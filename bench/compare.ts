// Compares the CPU time of two checkouts for the same work, in alternating rounds.
//
//   node bench/compare.ts OLD_CHECKOUT NEW_CHECKOUT [--rounds 5] [--requests 1000]
//
// Each checkout has its packages installed (`git worktree add DIRECTORY COMMIT`, then `pnpm install` there). Both systems run side by side, each
// with its own PostgreSQL, and only one works at a time. Prints each round's CPU milliseconds, of all services and PostgreSQL, for a page of the
// list, a detail, two tools and an imported call, and the ratio of the medians beside the spread of the old checkout's rounds.
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { MCP_HEADERS, toolCall } from '@crs/testing/mcp';
import { OPERATOR_CREDENTIAL } from '@crs/testing/setup';
import { measure } from './load.ts';
import { median, worst } from './statistics.ts';
import { cpuSeconds, type System } from './system.ts';

const { values: options, positionals } = parseArgs({
  options: { rounds: { type: 'string', default: '5' }, requests: { type: 'string', default: '1000' } },
  allowPositionals: true,
});
if (positionals.length !== 2) {
  console.error('usage: node bench/compare.ts OLD_CHECKOUT NEW_CHECKOUT [--rounds N] [--requests N]');
  process.exit(2);
}
const ROUNDS = Number(options.rounds);
const REQUESTS = Number(options.requests);
const CONCURRENCY = 8;
const CALLS = 1_000;
const IMPORTED = 5_000;
const EMAIL = 'ann@bench.example';
const BOUNDLESS = { requests: 1_000_000_000, period_seconds: 60 };

const checkouts = [];
for (const directory of positionals) checkouts.push(await start(resolve(directory)));
const [older, newer] = checkouts as [Checkout, Checkout];
try {
  for (const kind of Object.keys(older) as (keyof Checkout)[]) {
    if (kind === 'stop') continue;
    const used: [number[], number[]] = [[], []];
    // The first round fills caches and compiles.
    for (let round = 0; round <= ROUNDS; round++) {
      for (const [index, checkout] of [older, newer].entries()) {
        const milliseconds = await checkout[kind]();
        if (round > 0) used[index]!.push(milliseconds);
      }
    }
    const [old, now] = used;
    const spread = (worst(old) - Math.min(...old)) / median(old);
    const shown = (values: number[]) => values.map((value) => value.toFixed(2)).join(' ');
    console.log(
      `${kind.padEnd(12)} old ${shown(old)}  new ${shown(now)}  new to old ${(median(now) / median(old)).toFixed(2)}, spread of old ${spread.toFixed(2)}`,
    );
  }
} finally {
  for (const checkout of checkouts) await checkout.stop();
}

/** Does a kind of work. @returns CPU milliseconds of one request, or of one call of an import */
type Work = () => Promise<number>;
type Checkout = Record<'list' | 'detail' | 'list_calls' | 'get_call' | 'import', Work> & { stop(): Promise<void> };

/** Starts the system of a checkout by its own code, and imports calls for one organization and user. */
async function start(directory: string): Promise<Checkout> {
  const code = <T>(path: string) => import(pathToFileURL(join(directory, path)).href) as Promise<T>;
  const { startSystem } = await code<typeof import('./system.ts')>('bench/system.ts');
  const { connect } = await code<typeof import('@crs/crs/connection')>('services/crs/src/connection.ts');
  const { load } = await code<typeof import('@crs/testing/load')>('testing/src/load.ts');
  const { createKey, createToken } = await code<typeof import('@crs/testing/credentials')>('testing/src/credentials.ts');

  const system: System = await startSystem();
  const operator = connect({ addresses: system.admin, credential: OPERATOR_CREDENTIAL });
  await load(operator, [
    { type: 'organization', id: 'bench', name: 'Bench', rate_limit: BOUNDLESS, tool_rate_limit: BOUNDLESS },
    { type: 'organization', id: 'imported', name: 'Imported' },
    { type: 'user', organization: 'bench', email: EMAIL, name: 'Ann' },
    ...Array.from({ length: CALLS }, (_, n) => ({ ...call('bench', n), conducted_by: EMAIL })),
  ]);
  const key = { authorization: `Bearer ${await createKey(operator, 'bench')}` };
  const token = { ...MCP_HEADERS, authorization: `Bearer ${await createToken(operator, 'bench', EMAIL)}` };

  const asked = { requests: REQUESTS, concurrency: CONCURRENCY };
  const get = (path: string) => async () => (await measure(`${system.api}${path}`, key, asked, system.pids)).total;
  const tool = (name: string, args: object) => async () => {
    const body = JSON.stringify(toolCall(name, args));
    return (await measure(`http://${system.tools}/mcp`, token, { ...asked, body }, system.pids)).total;
  };
  let imported = 0;
  return {
    list: get('/v1/calls?start_date=2026-01-01T00:00:00Z&end_date=2027-01-01T00:00:00Z'),
    detail: get('/v1/calls/call_7'),
    list_calls: tool('list_calls', {}),
    get_call: tool('get_call', { call_id: 'call_7' }),
    import: async () => {
      const records = Array.from({ length: IMPORTED }, () => call('imported', imported++));
      const before = sum(cpuSeconds(system.pids));
      await load(operator, records);
      return ((sum(cpuSeconds(system.pids)) - before) * 1000) / IMPORTED;
    },
    stop: async () => {
      operator.close();
      await system.stop();
    },
  };
}

function call(organization: string, n: number): object {
  return {
    type: 'call',
    organization,
    id: `call_${n}`,
    created_at: new Date(Date.UTC(2026, 0, 1) + (n % 8_000) * 3_600_000).toISOString(),
    date: new Date(Date.UTC(2026, 0, 1) + (n % 8_000) * 3_600_000).toISOString(),
    expert: { name: `Expert ${n}`, job_title: `Head of ${n % 30}`, organization: `Company ${n % 200}`, country: 'Turkey' },
    summary: 'Summary of what was said in this call. '.repeat(8),
    ktas: '- One thing that was learned.\n- And another.',
    duration_minutes: 30 + (n % 60),
    transcript: [{ speaker: `Expert ${n}`, start_seconds: 0, text: 'Words that were said. '.repeat(20) }],
  };
}

function sum(values: Map<string, number>): number {
  return [...values.values()].reduce((total, value) => total + value, 0);
}
