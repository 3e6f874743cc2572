/** Measures how long one request occupies the event loop of each process. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

/** Requests usually occupy an event loop for a few milliseconds at most. A longer iteration than this delays other requests. */
const MOST_MS = 20;
/** Number of attempts. The shortest time counts, because others may include a garbage collection. */
const TRIES = 3;

const TURN_PROBE = new URL('./turn-probe.ts', import.meta.url).href;
/** Node.js options of measured processes. */
export const WITH_TURNS = ['--import', TURN_PROBE];

/** The processes of a system. */
export interface Measured {
  pids: Map<string, number>;
  /** The value of CRS_TEST_PROBES in the processes. */
  probes: string;
}

/** The process whose event loop a request occupied longest, and for how long. */
export interface Held {
  process: string;
  ms: number;
}

/** Returns the CPU time of a process's main thread so far (milliseconds), once it sleeps: Linux updates it when a thread stops running. Linux only. */
async function mainThreadMs(pid: number): Promise<number> {
  const thread = `/proc/${pid}/task/${pid}`;
  while (/\) R /.test(readFileSync(`${thread}/stat`, 'utf8'))) await sleep(1);
  return Number(readFileSync(`${thread}/schedstat`, 'utf8').split(' ', 1)[0]) / 1e6;
}

/**
 * Measures how long `work`, sent alone, occupies the event loops. For most requests, the total CPU time is already below the limit of one iteration. Only
 * for the others, single iterations are measured, because that keeps the processes awake.
 */
export async function longestHold({ pids, probes }: Measured, work: () => Promise<unknown>): Promise<Held> {
  const before = await busyMs(pids);
  await work();
  const held: Held = { process: '', ms: 0 };
  for (const [process, after] of await busyMs(pids)) {
    let ms = after - before.get(process)!;
    for (let n = 0; n < TRIES && ms > MOST_MS; n++)
      ms = Math.min(ms, await longestTurn(`${probes}/${pids.get(process)!}.turns`, work));
    if (ms > held.ms) Object.assign(held, { process, ms });
  }
  return held;
}

async function busyMs(pids: Map<string, number>): Promise<Map<string, number>> {
  const busy = new Map<string, number>();
  for (const [name, pid] of pids) busy.set(name, await mainThreadMs(pid));
  return busy;
}

/** Returns the CPU time of a process's longest event-loop iteration during `work` (milliseconds). @param path the socket of its probe */
async function longestTurn(path: string, work: () => Promise<unknown>): Promise<number> {
  const socket = createConnection(path);
  await once(socket, 'data');
  await work();
  socket.write('done');
  return Number(await text(socket));
}

/** Returns the violation of a request that occupies an event loop for too long. */
export function slowness({ process, ms }: Held): string[] {
  return ms > MOST_MS
    ? [`slow: ${ms.toFixed(0)} ms of one iteration of the event loop of ${process}, at most ${MOST_MS} ms are allowed`]
    : [];
}
