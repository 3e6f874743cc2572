import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PROCESS_NAMES, type Processes } from '@crs/testing/processes';
import { say } from './clients.ts';

const PROBE = new URL('./probe.ts', import.meta.url).href;

/** Node.js options of measured processes. */
export const PROBED = ['--expose-gc', '--import', PROBE];

/** The resources of an idle process. */
export interface Measure {
  /** Bytes in use after a garbage collection. */
  heap: number;
  sockets: number;
  timers: number;
  pid: number;
}

/** @param directory value of CRS_TEST_PROBES in the processes */
export async function measureAll(processes: Processes, directory: string): Promise<Map<string, Measure>> {
  const measures = new Map<string, Measure>();
  for (const name of PROCESS_NAMES) measures.set(name, await measure(processes.pids.get(name)!, directory));
  return measures;
}

async function measure(pid: number, directory: string): Promise<Measure> {
  const { heapUsed, timers } = await askProbe(pid, directory);
  return { heap: heapUsed, timers, sockets: socketsOf(pid), pid };
}

/**
 * The memory in bytes and the timers of a process that was started with PROBED, after a garbage collection.
 * @param directory value of CRS_TEST_PROBES in the process
 */
export async function askProbe(pid: number, directory: string): Promise<NodeJS.MemoryUsage & { timers: number }> {
  const file = join(directory, String(pid));
  rmSync(file, { force: true });
  process.kill(pid, 'SIGUSR2');
  while (!existsSync(file)) await sleep(50);
  return JSON.parse(readFileSync(file, 'utf8')) as NodeJS.MemoryUsage & { timers: number };
}

function socketsOf(pid: number): number {
  const directory = `/proc/${pid}/fd`;
  return readdirSync(directory).filter((fd) => {
    try {
      return readlinkSync(join(directory, fd)).startsWith('socket:');
    } catch {
      return false;
    }
  }).length;
}

/** Tolerated growth: 10%, or two more sockets or timers. */
const LIMITS = { heap: 1.1, sockets: 1.1, timers: 1.1 };
const FEW = { heap: 0, sockets: 2, timers: 2 };

/** Prints both measures side by side. @returns a sentence for each resource that grew */
export function compare(before: Map<string, Measure>, after: Map<string, Measure>): string[] {
  const grown: string[] = [];
  say('\nservice       heap MiB after GC  sockets   timers    (first measure -> last)');
  for (const [name, then] of before) {
    const now = after.get(name)!;
    const mib = ({ heap }: Measure) => (heap / 1024 / 1024).toFixed(1);
    const since = then.pid === now.pid ? '' : 'another process since';
    say(
      `${name.padEnd(13)} ${`${mib(then)} -> ${mib(now)}`.padEnd(18)} ${`${then.sockets} -> ${now.sockets}`.padEnd(9)} ${`${then.timers} -> ${now.timers}`.padEnd(9)} ${since}`,
    );
    for (const what of ['heap', 'sockets', 'timers'] as const) {
      if (now[what] > Math.max(then[what] * LIMITS[what], then[what] + FEW[what])) {
        grown.push(`${name}: ${what} grew from ${then[what]} to ${now[what]}`);
      }
    }
  }
  return grown;
}
