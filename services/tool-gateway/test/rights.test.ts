import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addLane, type Lane } from '@crs/testing/lanes';
import { sharedWorld, tenant } from '@crs/testing/world';
import { DIRECTORY_RIGHTS } from './_directory-rights.ts';
import { createTenant, RIGHTS } from './_rights.ts';

const ALL = [...RIGHTS, ...DIRECTORY_RIGHTS];

let lanes: [Lane, Lane];
let close: (() => Promise<void>) | undefined;

beforeAll(async () => {
  ({ lanes, close } = await addLane(await sharedWorld()));
});
afterAll(() => close?.());

/** The pause between two requests to a gateway, which gets each read at least once before the change, and once after its time limit. */
const PAUSE_MS = 100;

describe('within its time limit, every gateway refuses or hides', () => {
  /** The time from the acknowledgement of a change to the latest request that still succeeded. */
  let lastMs = 0;
  let responses = 0;
  afterAll(() =>
    console.log(
      `rights: ${ALL.length} kinds, ${responses} responses; no request sent later than ${lastMs.toFixed(0)} ms after the acknowledgement succeeded`,
    ),
  );

  it.concurrent.each(ALL.map((right, n) => ({ ...right, n })))(
    '$what',
    async ({ n, within, given, mark, reads, prepare, revoke }) => {
      const organization = await createTenant(tenant(`org-${n}`), lanes[n % 2]!, given);
      await prepare?.(organization);
      const answers: { gateway: number; read: number; sentAt: number; done: number; shown: boolean }[] = [];
      const warm = lanes.map(() => Promise.withResolvers<void>());
      let deniedFrom = Infinity;
      const poll = async (lane: Lane, gateway: number) => {
        for (let turn = 0, after = 0; after < reads.length; turn++) {
          const read = turn % reads.length;
          const sentAt = performance.now();
          const shown = await reads[read]!(organization, lane, mark);
          answers.push({ gateway, read, sentAt, done: performance.now(), shown });
          if (turn === reads.length) warm[gateway]!.resolve();
          if (sentAt > deniedFrom) after++;
          await sleep(PAUSE_MS);
        }
      };
      const revokeOnceWarm = async () => {
        await Promise.all(warm.map(({ promise }) => promise));
        const began = performance.now();
        await revoke(organization);
        const acknowledged = performance.now();
        deniedFrom = acknowledged + within;
        return { began, acknowledged };
      };
      const [{ began, acknowledged }] = await Promise.all([revokeOnceWarm(), ...lanes.map(poll)]);
      const shown = answers.filter((answer) => answer.shown).map((answer) => ({ ...answer, ms: answer.sentAt - acknowledged }));
      expect(answers.filter((answer) => answer.done < began && !answer.shown)).toEqual([]);
      expect(shown.filter(({ ms }) => ms > within)).toEqual([]);
      responses += answers.length;
      lastMs = Math.max(lastMs, ...shown.map(({ ms }) => ms));
    },
  );
});
