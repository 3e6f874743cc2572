/** Generates requests, sends many concurrently, and counts the outcomes. */
import fc from 'fast-check';
import { learnCursors } from './cursors.ts';
import type { Greatest } from './greatest.ts';
import { longestHold, slowness, type Held, type Measured } from './loop-time.ts';
import { Oracle, type Verdict } from './oracle.ts';
import { rawRequests, sendRaw, type Raw } from './raw-requests.ts';
import { examineRecords } from './record-oracle.ts';
import type { RecordRequest } from './record-parts.ts';
import { recordRequests } from './record-requests.ts';
import { bytesOf, show, type Fuzzed } from './request.ts';
import type { FuzzSystem } from './system.ts';
import { LEGACY, toolHeaders } from './tool-message.ts';
import { toolRequests, type ListedTool } from './tool-requests.ts';
import { sendRequest, WireError } from './wire.ts';

export interface RunConfig {
  requests: number;
  seed: number;
  concurrency: number;
  /** Requests that are sent one at a time afterwards, to measure how long they block the event loops. Absent: none. */
  alone?: { processes: Measured; requests: number; greatest: Greatest[] };
}

export interface Report {
  requests: number;
  seconds: number;
  /** Number of responses by route and outcome. */
  outcomes: Map<string, Map<string, number>>;
  /** For each route and process, the input that occupied the event loop longest. The slowest ones first. */
  slowest: Slow[];
  /** Violations of the contract and requests that took too long, each with the request. */
  violations: string[];
}

/** An input that was sent without other load. */
export interface Slow extends Held {
  input: string;
}

type Drawn = Fuzzed | RecordRequest | Raw;

export async function fuzz(system: FuzzSystem, config: RunConfig): Promise<Report> {
  const { requests, seed, concurrency, alone } = config;
  const tools = await listTools(system);
  const drawn: fc.Arbitrary<Drawn> = fc.oneof(
    { arbitrary: toolRequests(system, tools, await learnCursors(system)), weight: 15 },
    { arbitrary: recordRequests(system.api, system.keys), weight: 4 },
    { arbitrary: rawRequests(system), weight: 1 },
  );
  const oracle = new Oracle(tools);
  const outcomes = new Map<string, Map<string, number>>();
  let sent = 0;
  const send = async (request: Drawn): Promise<string[]> => {
    sent++;
    const verdict = 'pieces' in request ? await sendRaw(system, request) : await examine(system, oracle, request);
    const row = outcomes.get(request.route) ?? new Map<string, number>();
    outcomes.set(request.route, row.set(verdict.outcome, (row.get(verdict.outcome) ?? 0) + 1));
    return verdict.violations;
  };
  const begun = performance.now();
  const lanes = Array.from({ length: concurrency }, (_, lane) => {
    const numRuns = Math.ceil(requests / concurrency);
    return firstViolation(drawn, send, { seed: mix(seed + lane), numRuns });
  });
  const violations = (await Promise.all(lanes)).flat();

  const slowest = new Map<string, Slow>();
  const sendAlone = async (processes: Measured, name: string, input: string, send: () => Promise<string[]>) => {
    let wrong: string[] = [];
    const held = await longestHold(processes, async () => (wrong = await send()));
    const key = `${name} ${held.process}`;
    if (held.ms > (slowest.get(key)?.ms ?? -1)) slowest.set(key, { ...held, input });
    violations.push(...[...wrong, ...slowness(held)].map((violation) => `${input}: ${violation}`));
  };
  if (alone) {
    for (const request of fc.sample(drawn, { seed: mix(seed + concurrency), numRuns: alone.requests })) {
      const input = `${request.route} (${wireBytes(request).length} bytes, from ${show(wireBytes(request).subarray(0, 80))})`;
      await sendAlone(alone.processes, request.route, input, () => send(request));
    }
    for (const { name, send } of alone.greatest) await sendAlone(alone.processes, name, name, send);
  }
  const seconds = (performance.now() - begun) / 1000;
  return {
    requests: sent,
    seconds,
    outcomes,
    violations,
    slowest: [...slowest.values()].toSorted((a, b) => b.ms - a.ms),
  };
}

/** Sends generated requests one after the other until one violates the contract. @returns a description of the smallest such request */
async function firstViolation(
  drawn: fc.Arbitrary<Drawn>,
  send: (request: Drawn) => Promise<string[]>,
  parameters: { seed: number; numRuns: number },
): Promise<string[]> {
  const property = fc.asyncProperty(drawn, async (request) => {
    const found = await send(request);
    if (found.length > 0) throw new Error(found.join('\n  '));
  });
  const { counterexample, errorInstance } = await fc.check(property, parameters);
  if (!counterexample) return [];
  const [request] = counterexample;
  const who = 'credential' in request ? ` by ${request.credential.name}` : '';
  const bytes = show(wireBytes(request)).replace(/^/gm, '  | ');
  return [`${request.route}${who}\n  ${(errorInstance as Error).message}\n${bytes}`];
}

function wireBytes(request: Drawn): Buffer {
  return 'pieces' in request ? Buffer.concat(request.pieces) : bytesOf(request);
}

async function listTools({ tools, users }: FuzzSystem): Promise<ListedTool[]> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
  const headers = toolHeaders(tools, users[0].header, { version: LEGACY });
  const { json } = await sendRequest(tools, { method: 'POST', target: '/mcp', headers, body });
  return (json as { result: { tools: ListedTool[] } }).result.tools;
}

async function examine(system: FuzzSystem, oracle: Oracle, request: Fuzzed | RecordRequest): Promise<Verdict> {
  try {
    if (request.target.startsWith('/v1/')) return examineRecords(request, await sendRequest(system.api, request));
    return oracle.examine(request, await sendRequest(system.tools, request));
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    return { outcome: 'no response', violations: [`wire: ${error.message}`] };
  }
}

/** Hashes a seed, because generators with consecutive seeds start with similar values. */
function mix(seed: number): number {
  let hash = Math.imul(seed ^ (seed >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
