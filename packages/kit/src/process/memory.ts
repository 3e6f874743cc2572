/** How often a process looks whether it is at rest. */
const EVERY_MS = 30_000;
/** The part of the time that a process at rest works at most: it answers probes. */
const AT_REST = 0.03;
/** A collection stops a process for 0.1 to 0.2 s, so it should give back some memory. */
const WORTH_BYTES = 16 * 1024 * 1024;

/**
 * Gives back what nothing needs any more, which is half of the memory of a process: now, at the end of its start, and whenever it is at rest after work.
 * V8 by itself keeps it until there is more work. Without Node's `--expose-gc` nothing happens.
 * @returns a function that ends it
 */
export function trimMemory(everyMs = EVERY_MS): () => void {
  const collect = globalThis.gc;
  if (!collect) return () => {};
  const trim = () => {
    collect({ type: 'major', flavor: 'last-resort' });
    return process.memoryUsage.rss();
  };
  let size = trim();
  let since = performance.eventLoopUtilization();
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, since);
    since = now;
    if (utilization <= AT_REST && process.memoryUsage.rss() > size + WORTH_BYTES) size = trim();
  }, everyMs).unref();
  return () => clearInterval(timer);
}
