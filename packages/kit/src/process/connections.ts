/** A connection to another service, which is opened again whenever it is lost. */
interface Connection {
  target: string;
  /** @param deadline in epoch milliseconds */
  isReadyBy(deadline: number): Promise<boolean>;
}

/** The connections of this process. */
export const connections = new Set<Connection>();

/**
 * Waits for every connection of this process, so that no first request has to. On a new pod it can take seconds: its network policies may come into
 * force after its start, and a lost question to DNS is asked again after 5 s.
 * @returns the targets without a connection, which are tried on
 */
export async function connectAll(patienceMs: number): Promise<string[]> {
  const deadline = Date.now() + patienceMs;
  const failed = await Promise.all(
    Array.from(connections, async (each) => ((await each.isReadyBy(deadline)) ? [] : [each.target])),
  );
  return failed.flat();
}
