// Measures what organizations do to each other at a gateway.
//
//   node bench/isolation.ts [--gateway api|tools] [--rounds 5] [--seconds 10]
//
// It starts the system itself. At both gateways, or at the named one, each round has three parts:
//
//   client     a client with 2, 4 and 16 connections, alone and beside another organization that asks once a second: how much of its rate it keeps
//   backfill   four calm organizations, two requests at a time each, alone and beside a client that keeps 16 connections busy: their p50 and p99
//   burst      the same beside 600 requests of one organization at once: how long these take
//
// Prints each round, the medians and the worst (promised: a client keeps 0.9 of its rate, p99 beside a backfill is at most 2.5 times that alone, a
// burst is served within a second). BENCH_PROFILE=<service> writes that service's CPU profile.
import { parseArgs } from 'node:util';
import { connect } from '@crs/crs/connection';
import { createKey, createToken } from '@crs/testing/credentials';
import { load } from '@crs/testing/load';
import { MCP_HEADERS, toolCall } from '@crs/testing/mcp';
import { OPERATOR_CREDENTIAL } from '@crs/testing/setup';
import type { Offer, Target } from './offer.ts';
import { countStatuses, runOffer } from './run-offer.ts';
import { seedCalls } from './seed.ts';
import { median, quantile, worst } from './statistics.ts';
import { startSystem } from './system.ts';

const { values: options } = parseArgs({
  options: { gateway: { type: 'string' }, rounds: { type: 'string', default: '5' }, seconds: { type: 'string', default: '10' } },
});
const ROUNDS = Number(options.rounds);
const SECONDS = Number(options.seconds);
const CALM = ['calm-1', 'calm-2', 'calm-3', 'calm-4'];
/** Times a second at which an organization sends two requests. */
const CALM_PER_SECOND = 5;
const CONNECTIONS = [2, 4, 16];
const BURST = 600;
const ROWS = 20_000;
const DAYS = 1_000;
/** More than a load generator takes to start. */
const START_MS = 2_000;
const NOW = new Date();
const BOUNDLESS = { requests: 1_000_000_000, period_seconds: 60 };
const EMAIL = 'ann@bench.example';

interface Scene {
  headers?: Record<string, string>;
  targets: Target[];
  credentials: Map<string, string>;
}

const system = await startSystem();
const operator = connect({ addresses: system.admin, credential: OPERATOR_CREDENTIAL });
try {
  const [keys, tokens] = [new Map<string, string>(), new Map<string, string>()];
  for (const id of [...CALM, 'busy']) {
    await load(operator, [
      { type: 'organization', id, name: id, rate_limit: BOUNDLESS, tool_rate_limit: BOUNDLESS },
      { type: 'user', organization: id, email: EMAIL, name: 'Ann' },
    ]);
    await seedCalls(system.databaseUrl, { organization: id, rows: ROWS, before: NOW, days: DAYS });
    const own = { conducted_by: EMAIL, created_at: '2020-01-01T00:00:00Z' };
    await load(
      operator,
      Array.from({ length: 200 }, (_, n) => ({ type: 'call', organization: id, id: `own_${n}`, ...own })),
    );
    keys.set(id, await createKey(operator, id));
    tokens.set(id, await createToken(operator, id, EMAIL));
  }
  if (options.gateway !== 'tools') await measureGateway('api-gateway', restScene(system.api, keys));
  if (options.gateway !== 'api') await measureGateway('tool-gateway', toolScene(system.tools, tokens));
} finally {
  operator.close();
  await system.stop();
}

function restScene(origin: string, credentials: Map<string, string>): Scene {
  const range = `start_date=${new Date(NOW.getTime() - DAYS * 86_400_000).toISOString()}&end_date=${NOW.toISOString()}`;
  const list = (page: number) => ({ url: `${origin}/v1/calls?${range}&page=${page}&per_page=50` });
  return { targets: [list(1), { url: `${origin}/v1/calls/own_7` }, list(300)], credentials };
}

function toolScene(address: string, credentials: Map<string, string>): Scene {
  const use = (name: string, args: object) => ({ url: `http://${address}/mcp`, body: JSON.stringify(toolCall(name, args)) });
  return {
    headers: MCP_HEADERS,
    targets: [use('list_calls', { limit: 50 }), use('get_call', { call_id: 'own_7' })],
    credentials,
  };
}

async function measureGateway(name: string, { headers = {}, targets, credentials }: Scene): Promise<void> {
  const of = (ids: string[]) => ({ headers, targets, credentials: ids.map((id) => credentials.get(id)!), seconds: SECONDS });
  const together = (...offers: Omit<Offer, 'beginsAt'>[]) => {
    const beginsAt = Date.now() + START_MS;
    return Promise.all(offers.map((offer) => runOffer({ ...offer, beginsAt })));
  };
  const client = (connections: number) => ({ ...of(['busy']), concurrency: connections, nice: 0 });
  const onceASecond = { ...of(['calm-1']), perSecond: 1, concurrency: 2, nice: -10 };
  const calm = { ...of(CALM), perSecond: CALM_PER_SECOND * CALM.length, together: 2, concurrency: 64, nice: -10 };
  const burst = { ...of(['busy']), requests: BURST, concurrency: BURST, nice: 0 };

  const kept = new Map(CONNECTIONS.map((connections) => [connections, [] as number[]]));
  const [backfills, bursts]: [number[], number[]] = [[], []];
  await together(client(16), calm);
  for (let round = 1; round <= ROUNDS; round++) {
    for (const connections of CONNECTIONS) {
      const [alone] = await together(client(connections));
      const [beside] = await together(client(connections), onceASecond);
      const [before, after] = [rateOf(alone!), rateOf(beside!)];
      kept.get(connections)!.push(after / before);
      console.log(
        `${name}, round ${round}, client, ${connections} connections: ${before.toFixed(0)}/s alone, ${after.toFixed(0)}/s beside`,
      );
    }
    const [quiet] = await together(calm);
    const [disturbed, backfill] = await together(calm, client(16));
    backfills.push(quantile(disturbed!.times, 0.99) / quantile(quiet!.times, 0.99));
    console.log(`${name}, round ${round}, calm alone: ${describe(quiet!.times)}`);
    console.log(`${name}, round ${round}, beside a backfill of ${rateOf(backfill!).toFixed(0)}/s: ${describe(disturbed!.times)}`);
    const [beside, served] = await together(calm, burst);
    bursts.push(served!.seconds);
    console.log(
      `${name}, round ${round}, beside a burst of ${countStatuses(served!)} in ${served!.seconds.toFixed(2)} s: ${describe(beside!.times)}`,
    );
  }
  for (const [connections, ratios] of kept)
    console.log(`${name}, a client with ${connections} connections keeps ${summary(ratios)} of its rate (promised: 0.9)`);
  console.log(
    `${name}, p99 beside a backfill to alone: ${summary(backfills)}, worst ${worst(backfills).toFixed(2)} (promised: 2.5)`,
  );
  console.log(`${name}, seconds of a burst: ${summary(bursts)}, worst ${worst(bursts).toFixed(2)} (promised: 1.0)\n`);
}

function rateOf({ times, seconds }: { times: number[]; seconds: number }): number {
  return times.length / seconds;
}

function describe(times: number[]): string {
  return `p50 ${quantile(times, 0.5).toFixed(1)} ms, p99 ${quantile(times, 0.99).toFixed(1)} ms`;
}

function summary(values: number[]): string {
  return `${median(values).toFixed(2)} (${values.map((each) => each.toFixed(2)).join(', ')})`;
}
