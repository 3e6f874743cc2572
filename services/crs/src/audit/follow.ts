import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '@crs/kit/errors';
import type { AuditEntry } from '@crs/proto/crs/auth/v1/admin';

const PAGE = 1_000;
const PAUSE_MS = 1_000;
/**
 * How long after an entry another one with a lower id may still appear: transactions end within half a minute, and an entry that counts
 * appears when its minute is over.
 */
const LATE_MS = 150_000;

export interface Trail {
  /** Lists entries with higher ids, oldest first. */
  after(id: number, limit: number): Promise<AuditEntry[]>;
  /** Told when the trail can't be read. It is tried again. */
  onOutage(error: ServiceError): void;
  /** Ends the following. */
  signal?: AbortSignal;
}

/**
 * Yields every entry after one of them, once each, as they appear. Entries of the last minutes are read again, because an entry may
 * appear after others with higher ids.
 * @throws ServiceError where the operator may not read the trail any more
 */
export async function* follow(trail: Trail, start: number): AsyncGenerator<AuditEntry> {
  /** No new entry has this id or a lower one. */
  let settled = start;
  /** When the entries since then were first seen, by id. */
  const seen = new Map<number, number>();
  while (!trail.signal?.aborted) {
    const began = performance.now();
    try {
      let last = settled;
      for (let length = PAGE; length === PAGE;) {
        const entries = await trail.after(last, PAGE);
        for (const entry of entries) {
          last = entry.id;
          if (seen.has(entry.id)) continue;
          seen.set(entry.id, performance.now());
          yield entry;
        }
        length = entries.length;
      }
      for (const [id, at] of seen) if (began - at > LATE_MS) settled = Math.max(settled, id);
      for (const id of seen.keys()) if (id <= settled) seen.delete(id);
    } catch (error) {
      if (!mayPass(error)) throw error;
      trail.onOutage(error);
    }
    await sleep(PAUSE_MS, undefined, trail.signal && { signal: trail.signal }).catch(() => undefined);
  }
}

function mayPass(error: unknown): error is ServiceError {
  return (
    error instanceof ServiceError && ['unavailable', 'deadline_exceeded', 'resource_exhausted', 'aborted'].includes(error.kind)
  );
}
