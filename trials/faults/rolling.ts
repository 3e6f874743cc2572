import { setTimeout as sleep } from 'node:timers/promises';
import type { ProcessName } from '@crs/testing/processes';
import { Balancer } from './balancer.ts';
import { say, startLoad, type LoadOptions, type Outcome } from './clients.ts';
import type { FaultySystem } from './system.ts';

/** Pause between two replicas, in which clients resolve names again and reconnect. A cluster waits similarly, until the new pod is ready. */
const CALM_MS = 1_200;

/**
 * Stops each replica of the services by SIGTERM and starts it again, one after the other, under load.
 * @param pace as in {@link startLoad}
 * @returns a sentence for each failed request. None should fail
 */
export async function rolling(
  system: FaultySystem,
  { passes, services, ...pace }: Pick<LoadOptions, 'clients' | 'pauseMs'> & { passes: number; services: readonly ProcessName[] },
): Promise<string[]> {
  const outcomes: Outcome[] = [];
  const { processes, requests } = system;
  const failed: string[] = [];
  const load = startLoad({
    balancer: new Balancer(processes),
    requests,
    ...pace,
    onOutcome: (outcome) => {
      outcomes.push(outcome);
      if (outcome.served && outcome.wrong === undefined) return;
      failed.push(`${outcome.request} ${outcome.status} ${outcome.wrong ?? ''} after ${outcome.took.toFixed(0)} ms`);
      say(`  FAILED ${failed.at(-1)}`);
    },
  });
  await sleep(CALM_MS);
  for (let pass = 1; pass <= passes; pass++) {
    for (const service of services) {
      for (const replica of [1, 2]) {
        const before = { sent: outcomes.length, failed: failed.length };
        const started = performance.now();
        const code = await processes.terminate(service, replica);
        const took = performance.now() - started;
        if (code !== 0) failed.push(`${service}/${replica} ended with ${code}`);
        await processes.start(service, replica);
        await sleep(CALM_MS);
        const name = `${service}/${replica}`.padEnd(16);
        say(
          `pass ${pass}: ${name} exit ${code} after ${took.toFixed(0).padStart(5)} ms   ${outcomes.length - before.sent} requests, ${failed.length - before.failed} failed`,
        );
      }
    }
  }
  await load.stop();
  for (const [request, all = []] of Object.entries(Object.groupBy(outcomes, (each) => each.request))) {
    const slowest = Math.max(...all.map(({ took }) => took));
    say(`${request.padEnd(14)} ${String(all.length).padStart(6)} requests, slowest ${slowest.toFixed(0)} ms`);
  }
  say(`${outcomes.length} requests, ${passes * services.length * 2} terminations, ${failed.length} failed`);
  return failed;
}
