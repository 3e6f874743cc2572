// Measures the CPU time of a gateway for a remembered refusal, as a ratio to a bare `node:http` server that answers with the same bytes.
//
//   node bench/refusals.ts [--requests 20000] [--rounds 5]
//
// It starts the system itself and runs on Linux. Within a round, both servers answer in ten turns, so that other work of the machine meets both. Prints
// each round, and the median and the worst ratio (promised: at most 1.5). `401` is a credential that auth has refused within the last second; each of these requests is still charged to its address by the
// rate-limit service. `429` is a limit that is used up.
import { parseArgs } from 'node:util';
import { connect } from '@crs/crs/connection';
import { createApiKey } from '@crs/kit/product/api-key';
import { createKey } from '@crs/testing/credentials';
import { load } from '@crs/testing/load';
import { OPERATOR_CREDENTIAL } from '@crs/testing/setup';
import type { BareAnswer } from './bare-answer.ts';
import { measure } from './load.ts';
import { startBare } from './start-bare.ts';
import { median, worst } from './statistics.ts';
import { startSystem } from './system.ts';

const { values: options } = parseArgs({
  options: { requests: { type: 'string', default: '20000' }, rounds: { type: 'string', default: '5' } },
});
const REQUESTS = Number(options.requests);
const ROUNDS = Number(options.rounds);
const TURNS = 10;
const CONCURRENCY = 64;
const PERIOD_SECONDS = 3_600;
/** More than both gateways charge to the address before its limit may be used up. */
const ADDRESS_LIMIT = 3 * (ROUNDS + 1) * REQUESTS;

const system = await startSystem({ CRS_ADDRESS_RATE_LIMIT: `${ADDRESS_LIMIT}/${PERIOD_SECONDS}` });
const operator = connect({ addresses: system.admin, credential: OPERATOR_CREDENTIAL });
try {
  await load(operator, [
    { type: 'organization', id: 'over', name: 'Over', rate_limit: { requests: 1, period_seconds: PERIOD_SECONDS } },
  ]);
  const over = { authorization: `Bearer ${await createKey(operator, 'over')}` };
  const unknown = { authorization: `Bearer ${createApiKey()}` };
  const api = `${system.api}/v1/calls/call_1`;
  const tools = `http://${system.tools}/mcp`;
  await fetch(api, { headers: over });
  await compare('api-gateway', '429, organization', api, over);
  await compare('api-gateway', '401, unknown key', api, unknown);
  await compare('tool-gateway', '401, unknown token', tools, unknown);
  const useUp = async () => {
    while ((await fetch(tools)).status !== 429);
  };
  await Promise.all(Array.from({ length: 2 * CONCURRENCY }, useUp));
  await compare('api-gateway', '429, address', api, unknown);
  await compare('tool-gateway', '429, address', tools, unknown);
} finally {
  operator.close();
  await system.stop();
}

async function compare(gateway: string, what: string, url: string, headers: Record<string, string>): Promise<void> {
  const answer = await read(url, headers);
  if (!what.startsWith(String(answer.status))) throw new Error(`${gateway} answers ${answer.status}, not ${what}`);
  const bare = await startBare('bare-answer.ts', JSON.stringify(answer));
  const cpuOf = async (address: string, name: string, pid: number) => {
    const asked = { requests: Math.ceil(REQUESTS / TURNS), concurrency: CONCURRENCY, status: answer.status };
    return (await measure(address, headers, asked, new Map([[name, pid]]))).total * 1_000;
  };
  const ratios: number[] = [];
  try {
    for (let round = 0; round <= ROUNDS; round++) {
      let [theirs, ours] = [0, 0];
      for (let turn = 0; turn < TURNS; turn++) {
        theirs += (await cpuOf(bare.origin, 'bare', bare.pid)) / TURNS;
        ours += (await cpuOf(url, gateway, system.pids.get(gateway)!)) / TURNS;
      }
      if (round === 0) continue;
      ratios.push(ours / theirs);
      console.log(
        `${gateway}, ${what}, round ${round}: ${ours.toFixed(1)} us, bare ${theirs.toFixed(1)} us, ratio ${(ours / theirs).toFixed(2)}`,
      );
    }
  } finally {
    bare.stop();
  }
  console.log(`${gateway}, ${what}: median ${median(ratios).toFixed(2)}, worst ${worst(ratios).toFixed(2)} (at most 1.5)\n`);
}

/** The gateway's answer, without the headers that each HTTP server adds by itself. */
async function read(url: string, sent: Record<string, string>): Promise<BareAnswer> {
  const answer = await fetch(url, { headers: sent });
  const headers = Object.fromEntries(
    [...answer.headers].filter(([name]) => !['connection', 'date', 'keep-alive'].includes(name)),
  );
  return { status: answer.status, headers, body: await answer.text() };
}
