/** How long the event loop of each process works for one request. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

/** Requests take a few milliseconds of an event loop at most. A turn that takes more than this delays the requests of others. */
const MOST_MS = 20;
/** A garbage collection may fall into some of the tries, so the least counts. */
const TRIES = 3;

const TURN_PROBE = new URL('./turn-probe.ts', import.meta.url).href;
/** Node.js options of processes whose turns are measured. */
export const WITH_TURNS = ['--import', TURN_PROBE];

/** The processes of a system. */
export interface Measured {
  pids: Map<string, number>;
  /** The value of CRS_TEST_PROBES in the processes. */
  probes: string;
}

/** The process whose event loop a request held longest, and for how long. */
export interface Held {
  process: string;
  ms: number;
}

/** CPU time of a process's main thread so far, in milliseconds, once it sleeps: Linux adds it up when a thread stops running. Linux only. */
async function mainThreadMs(pid: number): Promise<number> {
  const thread = `/proc/${pid}/task/${pid}`;
  while (/\) R /.test(readFileSync(`${thread}/stat`, 'utf8'))) await sleep(1);
  return Number(readFileSync(`${thread}/schedstat`, 'utf8').split(' ', 1)[0]) / 1e6;
}

/**
 * Measures how long `work`, sent alone, holds the event loops. Most requests take less than the bound in all, which shows that each turn
 * does. Only for others are the turns measured, because that keeps the processes awake.
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

/** The CPU time of a process's longest turn while `work` is done, in milliseconds. @param path the socket of its probe */
async function longestTurn(path: string, work: () => Promise<unknown>): Promise<number> {
  const socket = createConnection(path);
  await once(socket, 'data');
  await work();
  socket.write('done');
  return Number(await text(socket));
}

/** The violation of a request that holds an event loop for too long. */
export function slowness({ process, ms }: Held): string[] {
  return ms > MOST_MS
    ? [`slow: ${ms.toFixed(0)} ms of one turn of the event loop of ${process}, at most ${MOST_MS} ms are allowed`]
    : [];
}
