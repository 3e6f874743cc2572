export class TimedOut extends Error {
  override readonly name = 'TimedOut';

  constructor(ms: number) {
    super(`no answer within ${ms} ms`);
  }
}

/** Returns what `work` resolves to. @throws TimedOut if that takes longer */
export async function withTimeout<T>(work: Promise<T>, ms: number): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new TimedOut(ms)), ms);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
