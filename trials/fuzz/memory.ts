import { askProbe } from '../faults/measure.ts';

/** MiB by process. */
export type Memory = Map<string, { rss: number; heap: number; external: number }>;

const MIB = 1024 * 1024;

/** Measures processes after a garbage collection. @param probes value of CRS_TEST_PROBES in the processes */
export async function memoryOf(pids: Map<string, number>, probes: string): Promise<Memory> {
  const memory: Memory = new Map();
  for (const [name, pid] of pids) {
    const { rss, heapUsed, external } = await askProbe(pid, probes);
    memory.set(name, { rss: rss / MIB, heap: heapUsed / MIB, external: external / MIB });
  }
  return memory;
}

/** The processes that grew from one measurement to a later one by more than noise. */
export function growth(early: Memory, late: Memory): string[] {
  return [...late].flatMap(([name, { heap, external }]) => {
    const before = early.get(name)!;
    const [was, is] = [before.heap + before.external, heap + external];
    return is > was * 1.1 + 4 ? [`${name}: ${was.toFixed(1)} MiB of heap and buffers became ${is.toFixed(1)} MiB`] : [];
  });
}
