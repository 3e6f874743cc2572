/** How long a turn may take in a test. The goal is 20 ms; a collection of garbage of the whole test environment may add to it. */
export const LONG_TURN_MS = 50;

/**
 * Returns the CPU time in milliseconds of the longest turn that this thread's event loop takes during some work: the least of three tries. CPU time,
 * because on a busy machine a turn may be interrupted for longer than it takes.
 */
export async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  const tries: number[] = [];
  for (let i = 0; i < 3; i++) tries.push(await measure(work));
  return Math.min(...tries);
}

async function measure(work: () => Promise<unknown>): Promise<number> {
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
