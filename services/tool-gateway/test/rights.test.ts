import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addLane, type Lane } from '@crs/testing/lanes';
import { sharedWorld, tenant } from '@crs/testing/world';
import { found, RIGHTS } from './_rights.ts';

let lanes: [Lane, Lane];
let close: (() => Promise<void>) | undefined;

beforeAll(async () => {
  ({ lanes, close } = await addLane(await sharedWorld()));
});
afterAll(() => close?.());

/** For each gateway: the number of times that each read is asked before and after the change, and the pause between two requests. */
const TIMES = 2;
const PAUSE_MS = 100;

describe('every gateway refuses or hides in time', () => {
  /** Time from the acknowledgement to the latest request whose answer still showed the mark. */
  let lastMs = 0;
  let answered = 0;
  afterAll(() =>
    console.log(
      `rights: ${RIGHTS.length} kinds, ${answered} answers; shown to nobody who asked later than ${lastMs.toFixed(0)} ms after the acknowledgement`,
    ),
  );

  it.concurrent.each(RIGHTS.map((right, n) => ({ ...right, n })))('$what', async ({ n, within, given, mark, reads, take }) => {
    const organization = await found(tenant(`org-${n}`), lanes[n % 2]!, given);
    const answers: { gateway: number; read: number; asked: number; done: number; shown: boolean }[] = [];
    const warm = lanes.map(() => Promise.withResolvers<void>());
    let goneFrom = Infinity;
    const poll = async (lane: Lane, gateway: number) => {
      for (let turn = 0, after = 0; after < reads.length * TIMES; turn++) {
        const read = turn % reads.length;
        const asked = performance.now();
        const shown = await reads[read]!(organization, lane, mark);
        answers.push({ gateway, read, asked, done: performance.now(), shown });
        if (turn === reads.length * TIMES) warm[gateway]!.resolve();
        if (asked > goneFrom) after++;
        await sleep(PAUSE_MS);
      }
    };
    const takeAway = async () => {
      await Promise.all(warm.map(({ promise }) => promise));
      const began = performance.now();
      await take(organization);
      const acknowledged = performance.now();
      goneFrom = acknowledged + within;
      return { began, acknowledged };
    };
    const [{ began, acknowledged }] = await Promise.all([takeAway(), ...lanes.map(poll)]);
    const shown = answers.filter((answer) => answer.shown).map((answer) => ({ ...answer, ms: answer.asked - acknowledged }));
    expect(answers.filter((answer) => answer.done < began && !answer.shown)).toEqual([]);
    expect(shown.filter(({ ms }) => ms > within)).toEqual([]);
    answered += answers.length;
    lastMs = Math.max(lastMs, ...shown.map(({ ms }) => ms));
  });
});
