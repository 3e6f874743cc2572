/** How long a turn may take in a test. The goal is 20 ms; a garbage collection of the whole test environment may add to it. */
const LONG_TURN_MS = 50;

/**
 * Fails if a turn of this thread's event loop takes long during some work, in CPU time: on a busy machine, a turn may be interrupted for longer
 * than it takes. A turn may be long by chance, so the work has three tries.
 */
export async function expectShortTurns(work: () => Promise<unknown>): Promise<void> {
  const tries: number[] = [];
  do {
    if (tries.length === 3) throw new Error(`The longest turns of the event loop took ${tries.map(Math.round).join(', ')} ms.`);
    tries.push(await longestTurn(work));
  } while (tries.at(-1)! > LONG_TURN_MS);
}

async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let before = process.threadCpuUsage();
  const probe = setInterval(() => {
    const { user, system } = process.threadCpuUsage(before);
    longest = Math.max(longest, (user + system) / 1_000);
    before = process.threadCpuUsage();
  }, 1);
  try {
    await work();
    // The turn in which the work ends is measured after it.
    await new Promise((resolve) => setTimeout(resolve, 5));
  } finally {
    clearInterval(probe);
  }
  return longest;
}
