import { setTimeout as sleep } from 'node:timers/promises';
import { PROCESS_NAMES } from '@crs/testing/processes';
import { Balancer } from './balancer.ts';
import { say, startLoad, type Outcome } from './clients.ts';
import { victimOf, type FaultySystem, type Part } from './system.ts';

const PARTS: readonly Part[] = [...PROCESS_NAMES, 'postgres', 'redis'];

/** Time for which the first part runs without the others. */
const ALONE_MS = 3_000;
/** Duration of the load after all parts have started. After SETTLED_AFTER_MS every answer must be right. */
const LOAD_MS = 5_000;
const SETTLED_AFTER_MS = 2_000;

/**
 * Ends all parts at once and starts them again, once for each part: that part runs alone for a while, then the others start in a random
 * order. The parts include PostgreSQL and Redis. @returns a sentence for each fault
 */
export async function orders(system: FaultySystem, random: () => number): Promise<string[]> {
  const faults: string[] = [];
  for (const first of PARTS) {
    const others = PARTS.filter((part) => part !== first).toSorted(() => random() - 0.5);
    const parts = [first, ...others];
    await Promise.all(PARTS.map(async (part) => victimOf(system, part)?.kill()));
    const started = performance.now();
    const starting = parts.map(async (part, index) => {
      await sleep(index === 0 ? 0 : ALONE_MS + index * 300 * random());
      if (index === 1 && !isAlive(system, first)) faults.push(`${first} ended while it was alone`);
      await victimOf(system, part)?.start();
    });
    await Promise.all(starting);
    const took = performance.now() - started;
    const outcomes = await ask(system);
    const late = outcomes.filter(({ asked, served, wrong }) => wrong !== undefined || (!served && asked > SETTLED_AFTER_MS));
    for (const { question, status, wrong, asked } of late)
      faults.push(`${parts.join(', ')}: ${question} ${status} ${wrong ?? ''} ${asked} ms after all were there`);
    const early = outcomes.filter(({ served }) => !served).length - late.length;
    say(
      `${parts.join(', ')}: ready after ${(took / 1000).toFixed(1)} s, then ${outcomes.length} requests, ${early} refused at first, ${late.length} wrong`,
    );
  }
  return faults;
}

/** @returns the outcomes, their `asked` in milliseconds since the start of the load */
async function ask({ processes, questions }: FaultySystem): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const begun = Date.now();
  const load = startLoad({
    balancer: new Balancer(processes),
    questions,
    clients: 4,
    pauseMs: 30,
    onOutcome: (outcome) => void outcomes.push({ ...outcome, asked: outcome.asked - begun }),
  });
  await sleep(LOAD_MS);
  await load.stop();
  return outcomes;
}

function isAlive({ processes }: FaultySystem, part: Part): boolean {
  return part === 'postgres' || part === 'redis' || processes.pids.has(part);
}
