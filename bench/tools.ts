// Measures the throughput of `tools/call` against a bare server of the same SDK that returns the same bytes from memory.
//
//   node bench/tools.ts [--requests 3000] [--rounds 3]
//
// It starts the system itself. Prints both throughputs in each round, and the promised ratio.
import { parseArgs } from 'node:util';
import { connect } from '@crs/crs/connection';
import { createToken } from '@crs/testing/credentials';
import { load } from '@crs/testing/load';
import { MCP_HEADERS, postMcp, toolCall } from '@crs/testing/mcp';
import { OPERATOR_CREDENTIAL } from '@crs/testing/setup';
import { measure, type Result } from './load.ts';
import { median } from './statistics.ts';
import { startBare } from './start-bare.ts';
import { startSystem } from './system.ts';

const { values: options } = parseArgs({
  options: { requests: { type: 'string', default: '3000' }, rounds: { type: 'string', default: '3' } },
});
const REQUESTS = Number(options.requests);
const ROUNDS = Number(options.rounds);
const CONCURRENCY = 16;
const CALLS = 1_000;
const EMAIL = 'ann@bench.example';

const REQUESTED: [string, object][] = [
  ['list_calls, 25 of 1,000', toolCall('list_calls', {})],
  ['get_call', toolCall('get_call', { call_id: 'call_7' })],
];

const system = await startSystem();
const operator = connect({ addresses: system.admin, credential: OPERATOR_CREDENTIAL });
try {
  await load(operator, [
    { type: 'organization', id: 'bench', name: 'Bench', tool_rate_limit: { requests: 1_000_000_000, period_seconds: 60 } },
    { type: 'user', organization: 'bench', email: EMAIL, name: 'Ann' },
    ...Array.from({ length: CALLS }, (_, n) => ({
      type: 'call',
      organization: 'bench',
      id: `call_${n}`,
      conducted_by: EMAIL,
      date: new Date(Date.UTC(2026, 0, 1) + n * 3_600_000).toISOString(),
      expert: { name: `Expert ${n}`, job_title: `Head of ${n % 30}`, organization: `Company ${n % 200}`, country: 'Turkey' },
      summary: 'Summary of what was said in this call. '.repeat(8),
      ktas: '- One thing that was learned.\n- And another.',
      duration_minutes: 30 + (n % 60),
    })),
  ]);
  const authorization = `Bearer ${await createToken(operator, 'bench', EMAIL)}`;
  const answer = async (message: object) =>
    ((await (await postMcp(system.tools, message, { authorization })).json()) as { result: unknown }).result;
  const { tools } = (await answer({ jsonrpc: '2.0', id: 1, method: 'tools/list' })) as { tools: unknown };
  for (const [name, message] of REQUESTED) {
    const bare = await startBare('bare-tools.ts', JSON.stringify(tools), JSON.stringify(await answer(message)));
    const headers = { ...MCP_HEADERS, authorization };
    const send = (url: string, pids: Map<string, number>) =>
      measure(url, headers, { requests: REQUESTS, concurrency: CONCURRENCY, body: JSON.stringify(message) }, pids);
    const ratios: number[] = [];
    // The first round warms up.
    for (let round = 0; round <= ROUNDS; round++) {
      const theirs = await send(bare.origin, new Map([['bare', bare.pid]]));
      const ours = await send(`http://${system.tools}/mcp`, system.pids);
      if (round === 0) continue;
      print(`${name}, bare`, theirs);
      print(`${name}, ours`, ours);
      ratios.push(ours.perSecond / theirs.perSecond);
    }
    bare.stop();
    console.log(`${name}: throughput to the bare server's ${median(ratios).toFixed(2)} (at least 0.5)\n`);
  }
} finally {
  operator.close();
  await system.stop();
}

function print(name: string, { perSecond, p50, p99, cpu, total }: Result): void {
  const parts = [...cpu].map(([process, value]) => `${process} ${value.toFixed(2)}`).join('  ');
  console.log(
    `${name.padEnd(30)} ${perSecond.toFixed(0).padStart(6)}/s  p50 ${p50.toFixed(1)} ms  p99 ${p99.toFixed(1)} ms  CPU ${total.toFixed(2)} ms (${parts})`,
  );
}
