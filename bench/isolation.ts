// Measures how organizations affect each other at a gateway.
//
//   node bench/isolation.ts [--gateway api|tools] [--rounds 5] [--seconds 10]
//
// Starts the system itself. For each gateway, or the named one, a round has three parts:
//
//   client     a client with 2, 4 and 16 connections, alone and under contention with another organization that sends one request per second: the share of
//              its rate that it keeps
//   backfill   four calm organizations, each with two requests at a time, alone and under contention with a client that keeps 16 connections busy: their
//              p50 and p99
//   burst      the same organizations under contention with a burst of 600 requests of one organization: how long the burst takes
//
// Prints each round, the medians and the worst values. Goals: a client keeps 0.9 of its rate, p99 during a backfill is at most 2.5 times that alone, and a
// burst is served within a second. BENCH_PROFILE=<service> writes that service's CPU profile.
import { MCP_HEADERS, toolCall } from '@crs/testing/mcp';
import { countStatuses, describe, runOffers, type Target } from './offer.ts';
import { printFigure, quantile, readOptions } from './report.ts';
import { seedCalls, seededId } from './seed.ts';
import { createOrganization, startSystem } from './system.ts';

const { gateway, rounds, seconds } = readOptions({ gateway: '', rounds: 5, seconds: 10 });
const CALM = ['calm-1', 'calm-2', 'calm-3', 'calm-4'];
/** How many times per second an organization sends two requests. */
const CALM_PER_SECOND = 5;
const CONNECTIONS = [2, 4, 16];
const BURST = 600;
const ROWS = 20_000;
const DAYS = 1_000;
const NOW = new Date();

interface Scene {
  headers?: Record<string, string>;
  targets: Target[];
  credentials: Map<string, string>;
}

const system = await startSystem();
try {
  const [keys, tokens] = [new Map<string, string>(), new Map<string, string>()];
  for (const id of [...CALM, 'busy']) {
    const { key, token } = await createOrganization(system, id);
    await seedCalls(system, { organizations: [id], rows: ROWS, before: NOW, days: DAYS });
    keys.set(id, key);
    tokens.set(id, token);
  }
  if (gateway !== 'tools') await measureGateway('api-gateway', restScene(system.api, keys));
  if (gateway !== 'api') await measureGateway('tool-gateway', toolScene(system.tools, tokens));
} finally {
  await system.stop();
}

function restScene(origin: string, credentials: Map<string, string>): Scene {
  const range = `start_date=${new Date(NOW.getTime() - DAYS * 86_400_000).toISOString()}&end_date=${NOW.toISOString()}`;
  const list = (page: number) => ({ url: `${origin}/v1/calls?${range}&page=${page}&per_page=50` });
  return { targets: [list(1), { url: `${origin}/v1/calls/${seededId(7)}` }, list(300)], credentials };
}

function toolScene(address: string, credentials: Map<string, string>): Scene {
  const use = (name: string, args: object) => ({ url: `http://${address}/mcp`, body: JSON.stringify(toolCall(name, args)) });
  return {
    headers: MCP_HEADERS,
    targets: [use('list_calls', { limit: 50 }), use('get_call', { call_id: seededId(7) })],
    credentials,
  };
}

async function measureGateway(name: string, { headers = {}, targets, credentials }: Scene): Promise<void> {
  const of = (ids: string[]) => ({ headers, targets, credentials: ids.map((id) => credentials.get(id)!), seconds });
  const client = (connections: number) => ({ ...of(['busy']), concurrency: connections, nice: 0 });
  const onceASecond = { ...of(['calm-1']), perSecond: 1, concurrency: 2, nice: -10 };
  const calm = { ...of(CALM), perSecond: CALM_PER_SECOND * CALM.length, together: 2, concurrency: 64, nice: -10 };
  const burst = { ...of(['busy']), requests: BURST, concurrency: BURST, nice: 0 };

  const kept = new Map(CONNECTIONS.map((connections) => [connections, [] as number[]]));
  const [backfills, bursts]: [number[], number[]] = [[], []];
  await runOffers(client(16), calm);
  for (let round = 1; round <= rounds; round++) {
    const print = (text: string) => console.log(`${name}, round ${round}, ${text}`);
    for (const connections of CONNECTIONS) {
      const [alone] = await runOffers(client(connections));
      const [contended] = await runOffers(client(connections), onceASecond);
      const [before, after] = [rateOf(alone!), rateOf(contended!)];
      kept.get(connections)!.push(after / before);
      print(`client, ${connections} connections: ${before.toFixed(0)}/s alone, ${after.toFixed(0)}/s under contention`);
    }
    const [quiet] = await runOffers(calm);
    const [disturbed, backfill] = await runOffers(calm, client(16));
    backfills.push(quantile(disturbed!.times, 0.99) / quantile(quiet!.times, 0.99));
    print(`calm alone: ${describe(quiet!)}`);
    print(`during a backfill of ${rateOf(backfill!).toFixed(0)}/s: ${describe(disturbed!)}`);
    const [contended, served] = await runOffers(calm, burst);
    bursts.push(served!.seconds);
    print(`during a burst of ${countStatuses(served!)} in ${served!.seconds.toFixed(2)} s: ${describe(contended!)}`);
  }
  for (const [connections, ratios] of kept)
    printFigure(`${name}, rate that a client with ${connections} connections keeps`, ratios, { atLeast: 0.9 });
  printFigure(`${name}, p99 during a backfill to alone`, backfills, { atMost: 2.5 });
  printFigure(`${name}, seconds of a burst`, bursts, { atMost: 1 });
}

function rateOf({ times, seconds: took }: { times: number[]; seconds: number }): number {
  return times.length / took;
}
