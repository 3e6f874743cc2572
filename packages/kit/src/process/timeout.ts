export class TimedOut extends Error {
  override readonly name = 'TimedOut';
}

/** Returns the result of `work`. @throws TimedOut if it takes longer than the timeout; the work isn't stopped */
export async function withTimeout<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  const { promise: timedOut, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new TimedOut(`took longer than ${timeoutMs} ms`)), timeoutMs);
  try {
    return await Promise.race([work, timedOut]);
  } finally {
    clearTimeout(timer);
  }
}
