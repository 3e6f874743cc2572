import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ProjectRole } from '@crs/proto/crs/auth/v1/admin';
import { startLanes } from '@crs/testing/lanes';
import { ALPHA, BOB, call, createTenant, getCall, LIST_CALLS, LIST_PROJECTS, load, type Read } from './_rights.ts';

/** Set `CRS_ROUNDS=1000` for a longer run. */
const ROUNDS = Number(process.env['CRS_ROUNDS'] ?? 8);

let lanes: Awaited<ReturnType<typeof startLanes>>['lanes'];
let close: (() => Promise<void>) | undefined;

beforeAll(async () => {
  ({ lanes, close } = await startLanes());
});
afterAll(() => close?.());

describe('a call added after the acknowledged removal of a member', () => {
  it(`is not returned to that user, in ${ROUNDS} rounds`, { timeout: 20_000 + ROUNDS * 500 }, async () => {
    const tenant = await createTenant('rounds', lanes[0]);
    const member = { projectId: ALPHA, email: BOB, role: ProjectRole.PROJECT_ROLE_MEMBER };
    const started = performance.now();
    const counted = { after: 0, inProgress: 0, overtaken: 0 };
    for (let round = 0; round < ROUNDS; round++) {
      const [near, far] = round % 2 === 0 ? lanes : lanes.toReversed();
      const added = `added-${round}.`;
      const send = async (lane: (typeof lanes)[number], read: Read) => ({
        shown: await read(tenant, lane, added),
        done: performance.now(),
      });
      const operator = await near!.operator.operator(tenant.organization);
      // These reads are in progress during the removal, because the calls service of their lane is stopped at a random moment.
      const inProgress = [LIST_CALLS, LIST_PROJECTS, getCall(added)].map((read) => send(far!, read));
      await sleep(Math.random() * 15);
      process.kill(far!.pids.get('calls')!, 'SIGSTOP');
      try {
        await near!.operator.auth.removeMember(member, operator);
        const created_at = new Date(Date.UTC(2025, 5) + round * 1_000).toISOString();
        await load({ ...tenant, lane: near! }, [call({ id: added, segment: added, created_at })]);
      } finally {
        process.kill(far!.pids.get('calls')!, 'SIGCONT');
      }
      const acknowledged = performance.now();
      const early = await Promise.all(inProgress);
      const late = await Promise.all(lanes.flatMap((lane) => [LIST_CALLS, getCall(added)].map((read) => send(lane, read))));
      expect([...early, ...late].map(({ shown }) => shown)).not.toContain(true);
      await far!.operator.auth.addMember(member, await far!.operator.operator(tenant.organization));
      const again = await Promise.all(lanes.map((lane) => send(lane, getCall(added))));
      expect(again.map(({ shown }) => shown)).not.toContain(false);
      counted.after += late.length;
      counted.inProgress += early.length;
      counted.overtaken += early.filter(({ done }) => done > acknowledged).length;
    }
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.log(`rights: ${ROUNDS} rounds in ${seconds} s, no response contained the added call: ${JSON.stringify(counted)}`);
    expect(counted.overtaken).toBeGreaterThan(0);
  });
});
