/** The fault trial: breaks one component at a time under load, and checks refusals, recovery and stored projects. */
import { setTimeout as sleep } from 'node:timers/promises';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { PROCESS_NAMES } from '@crs/testing/processes';
import { randomFrom } from '@crs/testing/random';
import { Balancer } from './balancer.ts';
import { say, startLoad, type Outcome } from './clients.ts';
import type { RepeatedRequest } from './requests.ts';
import { breakPart, mendPart, startFaultySystem, victimOf, type FaultySystem } from './system.ts';

export const FAULTS = ['killed', 'paused', 'slow'] as const;
export type Fault = (typeof FAULTS)[number];
export const VICTIMS = [...PROCESS_NAMES, 'postgres'] as const;
export type VictimName = (typeof VICTIMS)[number];

export interface Round {
  victim: VictimName;
  fault: Fault;
}

/** Delay of each response of a slow component. */
const SLOW_MS = 2_000;
/** Maximum time from the victim's return until all requests succeed. */
const RECOVERY_MS = 2_000;
/** Tolerance above a deadline: two event-loop delays on a busy machine. Delays of the clients' own event loop are added. */
const SLACK_MS = 300;
/** Mean pause of a client between two requests. */
const PAUSE_MS = 30;
/** Pause between rounds, in milliseconds without a fault. */
const CALM_MS = 1_000;

/** Generates random rounds. The same seed generates the same rounds. */
export function draw(count: number, seed: number): Round[] {
  const random = randomFrom(seed);
  const pick = <T>(from: readonly T[]) => from[Math.floor(random() * from.length)]!;
  return Array.from({ length: count }, () => ({ victim: pick(VICTIMS), fault: pick(FAULTS) }));
}

export interface Result extends Round {
  outcomes: Outcome[];
  /** Milliseconds from the victim's return to the last request that failed. */
  recovery: number;
  faults: string[];
}

/** Starts a system, and breaks one component after the other under load. @returns a sentence for each fault */
export async function rounds(options: { rounds: Round[]; clients: number }): Promise<string[]> {
  const system = await startFaultySystem({ relays: true });
  try {
    const results = await breakInTurn(system, options);
    table(results);
    return [...results.flatMap(({ faults }) => faults), ...(await lostProjects(system))];
  } finally {
    await system.stop();
  }
}

/** Breaks one component after the other under load, and then stops the load. */
export async function breakInTurn(
  system: FaultySystem,
  { rounds, clients, pauseMs = PAUSE_MS }: { rounds: Round[]; clients: number; pauseMs?: number },
): Promise<Result[]> {
  let outcomes: Outcome[] = [];
  const load = startLoad({
    balancer: new Balancer(system.processes),
    requests: system.requests,
    clients,
    pauseMs,
    onOutcome: (outcome) => void outcomes.push(outcome),
  });
  const results: Result[] = [];
  const requests = new Map(system.requests.map((request) => [request.name, request]));
  await sleep(CALM_MS);
  for (const [index, round] of rounds.entries()) {
    outcomes = [];
    const lag = monitorEventLoopDelay({ resolution: 10 });
    lag.enable();
    await breakAndMend(system, round);
    const recoveredAt = Date.now();
    await sleep(RECOVERY_MS + CALM_MS);
    lag.disable();
    const heldUpMs = lag.max / 1e6;
    const result = evaluate(round, outcomes, recoveredAt, requests, heldUpMs);
    result.faults = result.faults.map((each) => `round ${index + 1} (${round.victim} ${round.fault}): ${each}`);
    results.push(result);
    const what = `round ${index + 1}: ${round.victim} ${round.fault}`;
    say(
      `${what}, ${countBy(result.outcomes)}, full service after ${result.recovery.toFixed(0)} ms, clients held up ${heldUpMs.toFixed(0)} ms`,
    );
    for (const wrong of result.faults.slice(0, 5)) say(`  FAULT ${wrong}`);
  }
  await load.stop();
  return results;
}

/** How long each fault lasts. Longer than the deadline of most requests. After a shorter pause, requests would succeed late instead of failing. */
const DURATION_MS = { killed: 2_000, paused: 6_000, slow: 3_500 };

async function breakAndMend(system: FaultySystem, { victim, fault }: Round): Promise<void> {
  const target = victimOf(system, victim)!;
  if (fault === 'slow') {
    const relays = system.relays.get(victim) ?? [];
    for (const relay of relays) relay.delay(SLOW_MS);
    await sleep(DURATION_MS.slow);
    for (const relay of relays) relay.delay(0);
  } else {
    await breakPart(target, fault);
    await sleep(DURATION_MS[fault]);
    await mendPart(target, fault);
  }
}

function evaluate(
  round: Round,
  outcomes: Outcome[],
  recoveredAt: number,
  requests: Map<string, RepeatedRequest>,
  heldUpMs: number,
): Result {
  const faults = new Set<string>();
  // A gateway that is down or hangs doesn't respond.
  const isEdge = round.victim === 'api-gateway' || round.victim === 'tool-gateway';
  let recovery = 0;
  for (const { request, sentAt, took, wrong, served, status } of outcomes) {
    const isExpectedSilence = status === 0 && isEdge;
    if (wrong !== undefined && !isExpectedSilence) faults.add(`${request}: ${wrong}`);
    if (took > requests.get(request)!.deadlineMs + SLACK_MS + heldUpMs && !isEdge)
      faults.add(`${request} ${status} took ${took.toFixed(0)} ms`);
    // Without rate-limit, every request must still succeed.
    if (!served && round.victim === 'rate-limit') faults.add(`${request} got ${status} because of rate-limit`);
    if (!served) recovery = Math.max(recovery, sentAt - recoveredAt);
  }
  if (recovery > RECOVERY_MS + heldUpMs) faults.add(`a request ${recovery} ms after the component's return failed`);
  return { ...round, outcomes, recovery, faults: [...faults] };
}

/** @returns a sentence for each acknowledged project that is missing or has changed */
async function lostProjects({ processes, created, key }: FaultySystem): Promise<string[]> {
  const lost: string[] = [];
  for (const [id, body] of created) {
    const response = await fetch(`${processes.api}/v1/projects/${id}`, { headers: { authorization: `Bearer ${key}` } });
    const text = await response.text();
    if (text !== body) lost.push(`project ${id} was acknowledged as ${body} and is ${text}`);
  }
  say(`${created.size} projects were acknowledged, ${lost.length} of them are not there`);
  return lost;
}

function countBy(outcomes: Outcome[]): string {
  const counts = Map.groupBy(outcomes, ({ status, served }) => (status === 200 && !served ? 'wrong' : String(status || 'none')));
  return [...counts].map(([status, all]) => `${status}: ${all.length}`).join(' ');
}

function table(results: Result[]): void {
  say('');
  say('victim        fault   rounds  responses by status                              slowest ms  back within ms');
  const groups = Map.groupBy(results, ({ victim, fault }) => `${victim.padEnd(13)} ${fault.padEnd(7)}`);
  for (const [name, group] of [...groups].toSorted(([a], [b]) => a.localeCompare(b))) {
    const all = group.flatMap(({ outcomes }) => outcomes);
    const slowest = Math.max(...all.map(({ took }) => took));
    const recovery = Math.max(...group.map((each) => each.recovery));
    say(
      `${name} ${String(group.length).padStart(6)}  ${countBy(all).padEnd(45)} ${slowest.toFixed(0).padStart(10)} ${recovery.toFixed(0).padStart(15)}`,
    );
  }
}
