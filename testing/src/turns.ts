/** The maximum duration of an event-loop iteration in a test. The goal is 20 ms, but a garbage collection of the whole test environment may add to it. */
const LONG_TURN_MS = 50;

/**
 * Fails if an iteration of this thread's event loop takes too long during some work. Measures CPU time, because a busy machine may interrupt an iteration
 * for longer than it takes. An iteration may be long by chance, so the work has three attempts.
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
    // The iteration in which the work ends is measured only after it.
    await new Promise((resolve) => setTimeout(resolve, 5));
  } finally {
    clearInterval(probe);
  }
  return longest;
}
