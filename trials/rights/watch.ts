import { setTimeout as sleep } from 'node:timers/promises';

/** A request that a right admits, at one replica. */
export interface Stream {
  /** Requests of the same name are one line of the table. */
  name: string;
  /** Sends the request. @returns whether it was admitted */
  ask: () => Promise<boolean>;
}

/** The requests of one name. Times are in milliseconds from the acknowledgement of the revocation to the sending of a request. */
export interface Line {
  name: string;
  requests: number;
  /** The latest request that was admitted. */
  lastAdmitted: number;
  /** Requests that were sent more than a second after the acknowledgement. */
  late: number;
  lateAdmitted: number;
}

const REVOKED_WITHIN_MS = 1_000;
/** How often each stream is asked after this second. */
const ROUNDS = 3;
const WORKERS = 6;

/**
 * Sends the requests in turn, without a pause, before, during and after a revocation.
 * @param revoke resolves when the revocation is acknowledged
 * @throws Error where a request isn't admitted before the revocation
 */
export async function watch(streams: readonly Stream[], revoke: () => Promise<unknown>): Promise<Line[]> {
  for (const { name, ask } of streams) if (!(await ask())) throw new Error(`${name} is refused before the revocation.`);
  const asked: { stream: Stream; sent: number; admitted: boolean }[] = [];
  const late = new Map(streams.map((stream) => [stream, 0]));
  let acknowledged = Infinity;
  let next = 0;
  const worker = async () => {
    while ([...late.values()].some((count) => count < ROUNDS)) {
      const stream = streams[next++ % streams.length]!;
      const sent = performance.now();
      if (sent > acknowledged + REVOKED_WITHIN_MS) late.set(stream, late.get(stream)! + 1);
      asked.push({ stream, sent, admitted: await stream.ask() });
    }
  };
  const workers = Array.from({ length: WORKERS }, worker);
  await sleep(500);
  await revoke();
  acknowledged = performance.now();
  await Promise.all(workers);
  return Object.entries(Object.groupBy(asked, ({ stream }) => stream.name)).map(([name, all = []]) => {
    const since = all.map(({ sent, admitted }) => ({ ms: sent - acknowledged, admitted }));
    const after = since.filter(({ ms }) => ms > REVOKED_WITHIN_MS);
    return {
      name,
      requests: all.length,
      lastAdmitted: Math.max(...since.filter(({ admitted }) => admitted).map(({ ms }) => ms)),
      late: after.length,
      lateAdmitted: after.filter(({ admitted }) => admitted).length,
    };
  });
}
