import { setTimeout as sleep } from 'node:timers/promises';
import { PROCESS_NAMES } from '../processes.ts';
import { say, startLoad, type Outcome } from './clients.ts';
import { startFaultySystem, twoOfEach } from './system.ts';

/** What is left until the next one goes: names and connections settle, as they do in a cluster that waits for a pod to be ready. */
const CALM_MS = 1_500;

/** Ends each replica of each service by SIGTERM in turn, under load. @returns what failed */
export async function rolling({ passes, clients }: { passes: number; clients: number }): Promise<string[]> {
  const system = await startFaultySystem({ replicas: twoOfEach, relays: false });
  const outcomes: Outcome[] = [];
  const { processes, questions } = system;
  const failed: string[] = [];
  try {
    const api = processes.apis.map((origin) => origin.replace('http://', ''));
    const load = startLoad({
      api,
      tools: processes.toolAddresses,
      questions,
      clients,
      pauseMs: 20,
      onOutcome: (outcome) => {
        outcomes.push(outcome);
        if (outcome.served && outcome.wrong === undefined) return;
        failed.push(`${outcome.question} ${outcome.status} ${outcome.wrong ?? ''} after ${outcome.took.toFixed(0)} ms`);
        say(`  FAILED ${failed.at(-1)}`);
      },
    });
    await sleep(2_000);
    for (let pass = 1; pass <= passes; pass++) {
      for (const service of PROCESS_NAMES) {
        for (const replica of [1, 2]) {
          const before = { asked: outcomes.length, failed: failed.length };
          const started = performance.now();
          const code = await processes.terminate(service, replica);
          const took = performance.now() - started;
          await processes.start(service, replica);
          await sleep(CALM_MS);
          say(
            `pass ${pass}: ${`${service}/${replica}`.padEnd(16)} exit ${code} after ${took.toFixed(0).padStart(5)} ms   ${outcomes.length - before.asked} requests, ${failed.length - before.failed} failed`,
          );
        }
      }
    }
    await load.stop();
  } finally {
    await system.stop();
  }
  const byQuestion = Object.groupBy(outcomes, ({ question }) => question);
  for (const [question, all = []] of Object.entries(byQuestion)) {
    const slowest = Math.max(...all.map(({ took }) => took));
    say(`${question.padEnd(14)} ${String(all.length).padStart(6)} requests, slowest ${slowest.toFixed(0)} ms`);
  }
  say(`${outcomes.length} requests, ${passes * PROCESS_NAMES.length * 2} terminations, ${failed.length} failed`);
  return failed;
}
