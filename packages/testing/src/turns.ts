/**
 * Measures the longest turn of this thread's event loop while some work goes on, in milliseconds of CPU time: time that other processes of a busy
 * machine take doesn't count.
 */
export async function longestTurn<T>(work: () => Promise<T>): Promise<{ longest: number; result: T }> {
  let longest = 0;
  let before = process.threadCpuUsage();
  const probe = setInterval(() => {
    const { user, system } = process.threadCpuUsage(before);
    longest = Math.max(longest, (user + system) / 1000);
    before = process.threadCpuUsage();
  }, 1);
  try {
    const result = await work();
    return { longest, result };
  } finally {
    clearInterval(probe);
  }
}
