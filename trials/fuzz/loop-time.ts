/** How long a gateway's event loop works for one request. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Requests take a few milliseconds of the event loop at most. A request that takes more than this delays all others. */
const MOST_MS = 50;
const TRIES = 3;

/** CPU time of a process's main thread so far, in milliseconds, once it sleeps: Linux adds it up when a thread stops running. Linux only. */
export async function mainThreadMs(pid: number): Promise<number> {
  const thread = `/proc/${pid}/task/${pid}`;
  while (/\) R /.test(readFileSync(`${thread}/stat`, 'utf8'))) await sleep(1);
  return Number(readFileSync(`${thread}/schedstat`, 'utf8').split(' ', 1)[0]) / 1e6;
}

/** The least time of three, or the first that is at most `enough`: a garbage collection may fall into one of them. */
export async function leastLoopMs(work: () => Promise<unknown>, now: () => Promise<number>, enough = MOST_MS): Promise<number> {
  let least = Infinity;
  for (let n = 0; n < TRIES && least > enough; n++) {
    const before = await now();
    await work();
    least = Math.min(least, (await now()) - before);
  }
  return least;
}

/** The violation of a request that takes too long. */
export function slowness(ms: number): string[] {
  return ms > MOST_MS ? [`slow: ${ms.toFixed(0)} ms of the event loop, at most ${MOST_MS} ms are allowed`] : [];
}
