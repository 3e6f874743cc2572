// Compares the throughput of `tools/call` with a baseline server of the same SDK that returns the same constant bytes.
//
//   node bench/tools.ts [--requests 3000] [--rounds 3]
//
// Starts the system itself. Prints both throughputs in each round, and their ratio with its goal.
import { MCP_HEADERS, postMcp, toolCall } from '@crs/testing/mcp';
import { measure } from './load.ts';
import { printFigure, printResult, readOptions, repeat } from './report.ts';
import { startBare } from './start-bare.ts';
import { bearer, createOrganization, EMAIL, startSystem } from './system.ts';

const { requests, rounds } = readOptions({ requests: 3_000, rounds: 3 });
const CONCURRENCY = 16;
const CALLS = 1_000;
const MESSAGES: [string, object][] = [
  ['list_calls, 25 of 1,000', toolCall('list_calls', {})],
  ['get_call', toolCall('get_call', { call_id: 'call_7' })],
];

const system = await startSystem();
try {
  const calls = Array.from({ length: CALLS }, (_, n) => ({
    type: 'call',
    id: `call_${n}`,
    conducted_by: EMAIL,
    date: new Date(Date.UTC(2026, 0, 1) + n * 3_600_000).toISOString(),
    expert: { name: `Expert ${n}`, job_title: `Head of ${n % 30}`, organization: `Company ${n % 200}`, country: 'Turkey' },
    summary: 'Summary of what was said in this call. '.repeat(8),
    ktas: '- One thing that was learned.\n- And another.',
    duration_minutes: 30 + (n % 60),
  }));
  const { token } = await createOrganization(system, 'bench', calls);
  const resultOf = async (message: object) =>
    ((await (await postMcp(system.tools, message, bearer(token))).json()) as { result: unknown }).result;
  const { tools } = (await resultOf({ jsonrpc: '2.0', id: 1, method: 'tools/list' })) as { tools: unknown };
  for (const [name, message] of MESSAGES) {
    const bare = await startBare('bare-tools.ts', JSON.stringify(tools), JSON.stringify(await resultOf(message)));
    const sent = { requests, concurrency: CONCURRENCY, body: JSON.stringify(message) };
    const headers = { ...MCP_HEADERS, ...bearer(token) };
    const results = await repeat(rounds, async () => ({
      theirs: await measure(bare.origin, headers, sent, bare.pidsWith(system)),
      ours: await measure(`http://${system.tools}/mcp`, headers, sent, system.pids),
    }));
    bare.stop();
    for (const each of results) {
      printResult(`${name}, bare`, each.theirs);
      printResult(`${name}, ours`, each.ours);
    }
    const ratios = results.map(({ ours, theirs }) => ours.perSecond / theirs.perSecond);
    printFigure(`${name}: throughput to the baseline server's`, ratios, { atLeast: 0.5 });
  }
} finally {
  await system.stop();
}
