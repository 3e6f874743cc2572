/** Measurements of rate limits during an outage of Redis or rate-limit. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Rule } from '@crs/kit/limits/rule';
import { breakPart, mendPart, victimOf } from '../faults/system.ts';
import { offer, restClient } from './client.ts';
import { warm } from './exactness.ts';
import type { LimitsSystem } from './system.ts';
import { faultsOf, mostAdmitted, windowsOf } from './windows.ts';

export const VICTIMS = ['Redis killed', 'Redis paused', 'rate-limit killed', 'rate-limit paused'] as const;
export type Victim = (typeof VICTIMS)[number];

/**
 * Breaks the victim under a load of ten times the limit, and restores it.
 * @param timing `afterMs`: milliseconds from the opening of a window to the outage, which lasts `lastedMs`
 * @returns the clients' measurements
 */
export async function outage(
  system: LimitsSystem,
  victim: Victim,
  rule: Rule,
  { afterMs, lastedMs, windowsAfter }: { afterMs: number; lastedMs: number; windowsAfter: number },
) {
  const { apis } = system.processes;
  const [name, fault] = victim.split(' ') as [string, string];
  const part = name === 'Redis' ? system.redis : victimOf(system, 'rate-limit')!;
  const periodMs = rule.periodSeconds * 1_000;
  const client = restClient(await system.createOrganization(rule));
  await warm(system, apis, 'rest');
  const load = offer(client, apis, (10 * rule.requests) / rule.periodSeconds);
  await sleep(periodMs);
  // Nobody else sends requests of this organization, so the reset time of a refusal is when the next window can open.
  let reset: number | undefined;
  while (reset === undefined) {
    const response = await client(apis[0]!);
    if (response.outcome === 'refused') ({ reset } = response);
  }
  await sleep(Math.max(0, reset * 1_000 - 1_000 - Date.now()));
  // The window opens within the next second.
  while ((await client(apis[0]!)).outcome !== 'admitted') await sleep(5);
  await sleep(afterMs);
  await breakPart(part, fault);
  await sleep(lastedMs);
  await mendPart(part, fault);
  const recoveredAt = Date.now();
  await sleep(2_000);
  const failures = await system.countFailures();
  await sleep((windowsAfter + 1) * (periodMs + 100));
  const responses = await load.stop();
  const after = windowsOf(responses, periodMs).filter(({ openedAt }) => openedAt >= recoveredAt + 2_000);
  return {
    limit: rule.requests,
    responses: responses.length,
    // Responses without limit headers, and other unexpected responses.
    faults: faultsOf(responses),
    slowestMs: Math.max(...responses.map(({ sent, done }) => done - sent)),
    // The maximum number of admitted requests in any period. Uses 90% of the period, because requests at the end of one window and at the beginning of the next
    // may be sent closer together than they are counted.
    mostAdmitted: mostAdmitted(responses, periodMs * 0.9),
    // The admitted requests of each window that opened more than two seconds after the end of the outage.
    after: after.slice(0, windowsAfter).map(({ admitted }) => admitted),
    // Whether a gateway counted locally in those windows, as it does if the machine stalls for a moment.
    disturbed: (await system.countFailures()) > failures,
    refusedBelowAfter: after.slice(0, windowsAfter).reduce((sum, { refusedBelow }) => sum + refusedBelow, 0),
  };
}

/**
 * Returns how many requests one period with an outage may admit at most: each gateway locally admits up to the full limit, and rate-limit up to a full
 * window before the outage and another one after it.
 */
export function mostInOutage({ processes }: LimitsSystem, limit: number): number {
  return (processes.apis.length + 2) * limit;
}
