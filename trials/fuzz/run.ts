/** Generates requests, sends many at a time, and counts the outcomes. */
import fc from 'fast-check';
import type { Document } from '@crs/testing/openapi';
import { learnCursors } from './cursors.ts';
import type { Greatest } from './greatest.ts';
import { longestHold, slowness, type Held } from './loop-time.ts';
import { Oracle, type Verdict } from './oracle.ts';
import { rawRequests, sendRaw, type Raw } from './raw-requests.ts';
import { bytesOf, show, type Fuzzed } from './request.ts';
import { restRequests } from './rest-requests.ts';
import type { FuzzSystem } from './system.ts';
import { LEGACY, toolHeaders } from './tool-message.ts';
import { toolRequests, type ListedTool } from './tool-requests.ts';
import { Connection, WireError } from './wire.ts';

export interface RunConfig {
  requests: number;
  seed: number;
  concurrency: number;
  /** How many of the requests, from the first on, are sent again one at a time to measure how long they hold the event loops. */
  measured: number;
  /** Inputs that are only sent one at a time. */
  greatest: Greatest[];
  /** Ends the run early; the report then covers the requests so far. */
  signal?: AbortSignal;
  /** Called after each batch. */
  progress: (done: number) => void;
}

export interface Report {
  requests: number;
  seconds: number;
  /** Number of answers by route and outcome. */
  outcomes: Map<string, Map<string, number>>;
  /** For each route and process, the input that held the event loop longest; the slowest ones first. */
  slowest: Slow[];
  /** Each kind of violation once, with the smallest request that shows it. */
  violations: string[];
  /** Number of answers that broke the contract. */
  broken: number;
}

/** An input that was sent alone. */
export interface Slow extends Held {
  input: string;
}

type Drawn = Fuzzed | Raw;

interface Lane {
  api: Connection;
  tools: Connection;
}

interface Found {
  kind: string;
  /** As it was seen. */
  first: string;
  seed: number;
  index: number;
}

const BATCH = 500;
const MAX_KINDS = 12;
/** The most time for finding the smallest request of a kind. */
const SHRINK_MS = 15_000;

export async function fuzz(system: FuzzSystem, config: RunConfig): Promise<Report> {
  const { requests, seed, concurrency, measured, greatest, progress, signal } = config;
  const { document, tools } = await describe(system);
  const cursors = await learnCursors(system);
  const drawn: fc.Arbitrary<Drawn> = fc.oneof(
    { arbitrary: restRequests(system, document), weight: 11 },
    { arbitrary: toolRequests(system, tools, cursors), weight: 8 },
    { arbitrary: rawRequests(system), weight: 1 },
  );
  const oracle = new Oracle(document, tools);
  const outcomes = new Map<string, Map<string, number>>();
  const found = new Map<string, Found>();
  let broken = 0;
  let asked = 0;
  const lanes = Array.from({ length: concurrency }, () => ({
    api: new Connection(system.api),
    tools: new Connection(system.tools),
  }));
  const ask = async (lane: Lane, request: Drawn): Promise<Verdict> => {
    asked++;
    return 'pieces' in request ? sendRaw(system, request) : examine(lane, oracle, request);
  };
  const slowest = new Slowest();
  const askAlone = async (request: Drawn): Promise<Verdict> => {
    let verdict: Verdict | undefined;
    const held = await longestHold(system, async () => (verdict = await ask(lanes[0]!, request)));
    slowest.add(request.route, { ...held, input: `${request.route} (${wireBytes(request).length} bytes)` });
    return { outcome: verdict!.outcome, violations: [...verdict!.violations, ...slowness(held)] };
  };
  const begun = performance.now();
  for (let batch = 0; batch * BATCH < requests && !signal?.aborted; batch++) {
    const batchSeed = mix(seed + batch);
    const size = Math.min(BATCH, requests - batch * BATCH);
    const batchRequests = fc.sample(drawn, { seed: batchSeed, numRuns: size });
    let next = 0;
    const count = (index: number, { outcome, violations }: Verdict) => {
      const request = batchRequests[index]!;
      const row = outcomes.get(request.route) ?? new Map<string, number>();
      outcomes.set(request.route, row.set(outcome, (row.get(outcome) ?? 0) + 1));
      if (violations.length > 0) broken++;
      for (const first of violations) {
        const kind = kindOf(request, first);
        if (!found.has(kind) && found.size < MAX_KINDS) found.set(kind, { kind, first, seed: batchSeed, index });
      }
    };
    await Promise.all(
      lanes.map(async (lane) => {
        while (next < size) {
          const index = next++;
          count(index, await ask(lane, batchRequests[index]!));
        }
      }),
    );
    for (let index = 0; index < Math.min(size, measured - batch * BATCH); index++) {
      count(index, await askAlone(batchRequests[index]!));
    }
    progress(batch * BATCH + size);
  }
  const seconds = (performance.now() - begun) / 1000;
  const violations: string[] = [];
  for (const each of found.values()) violations.push(await smallest(drawn, each, askAlone));
  for (const { name, send } of greatest) {
    if (signal?.aborted) break;
    let wrong: string[] = [];
    const held = await longestHold(system, async () => (wrong = await send()));
    slowest.add(name, { ...held, input: name });
    violations.push(...[...wrong, ...slowness(held)].map((violation) => `${name}: ${violation}`));
  }
  for (const { api, tools: other } of lanes) {
    api.close();
    other.close();
  }
  return { requests: asked, seconds, slowest: slowest.list(), outcomes, violations, broken };
}

/** The slowest input of each route. */
class Slowest {
  readonly #byRoute = new Map<string, Slow>();

  add(route: string, slow: Slow): void {
    const key = `${route} ${slow.process}`;
    const before = this.#byRoute.get(key);
    if (!before || before.ms < slow.ms) this.#byRoute.set(key, slow);
  }

  list(): Slow[] {
    return [...this.#byRoute.values()].toSorted((a, b) => b.ms - a.ms);
  }
}

function wireBytes(request: Drawn): Buffer {
  return 'pieces' in request ? Buffer.concat(request.pieces) : bytesOf(request);
}

/** Reads the OpenAPI document and the list of tools from the system. */
async function describe({ api, tools, users }: FuzzSystem): Promise<{ document: Document; tools: ListedTool[] }> {
  const document = (await (await fetch(`http://${api}/v1/openapi.json`)).json()) as Document;
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
  const headers = Object.fromEntries(toolHeaders(tools, users[0]!.header, { version: LEGACY }));
  const answer = (await (await fetch(`http://${tools}/mcp`, { method: 'POST', headers, body })).json()) as {
    result: { tools: ListedTool[] };
  };
  return { document, tools: answer.result.tools };
}

async function examine(lane: Lane, oracle: Oracle, request: Fuzzed): Promise<Verdict> {
  const connection = lane[request.server];
  try {
    return oracle.examine(request, await connection.exchange(bytesOf(request), request.method));
  } catch (error) {
    connection.close();
    if (!(error instanceof WireError)) throw error;
    return { outcome: 'no answer', violations: [`wire: ${error.message}`] };
  }
}

/** The kind of a violation. Each kind is reported once. */
function kindOf({ route }: Drawn, violation: string): string {
  return `${route}: ${violation.split(':')[0]!}`;
}

/** The smallest request with this kind of violation that is found in time, and the seed and path to draw it again. */
async function smallest(
  drawn: fc.Arbitrary<Drawn>,
  { kind, first, seed, index }: Found,
  ask: (request: Drawn) => Promise<Verdict>,
): Promise<string> {
  const shows = async (request: Drawn) => {
    const { violations } = await ask(request);
    return violations.filter((violation) => kindOf(request, violation) === kind);
  };
  const property = fc.asyncProperty(drawn, async (request) => (await shows(request)).length === 0);
  const { counterexample } = await fc.check(property, {
    seed,
    path: String(index),
    numRuns: 1,
    interruptAfterTimeLimit: SHRINK_MS,
    markInterruptAsFailure: false,
  });
  const request = counterexample?.[0] ?? fc.sample(drawn, { seed, numRuns: index + 1 })[index]!;
  const again = counterexample ? await shows(request) : [];
  const repeats = again.length > 0 ? again : [`${first} (not each time)`];
  const who = 'credential' in request ? ` by ${request.credential.name}` : '';
  return `${kind}\n  ${repeats.join('\n  ')}\n  seed ${seed}, number ${index}${who}\n${show(wireBytes(request)).replace(/^/gm, '  | ')}`;
}

/** Mixes a seed, because generators with neighboring seeds begin alike. */
function mix(seed: number): number {
  let hash = Math.imul(seed ^ (seed >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
