import { setTimeout as sleep } from 'node:timers/promises';
import type { ServiceError } from '@crs/kit/errors';
import type { AuditEntry } from '@crs/proto/crs/auth/v1/admin';
import { isTransient } from '../retry.ts';

const PAGE = 1_000;
const POLL_MS = 1_000;
/**
 * How long an entry with a lower id may still appear after another: transactions end within 30 seconds, and a counted entry is written when its
 * minute is over.
 */
const LATE_MS = 150_000;

export interface Trail {
  /** Lists entries with higher ids, oldest first. */
  after(id: number, limit: number): Promise<AuditEntry[]>;
  /** Called when the trail can't be read. The read is retried. */
  onOutage(error: ServiceError): void;
  /** Ends the loop. */
  signal?: AbortSignal;
}

/**
 * Yields every entry with an id above `start` once, as it appears. Reads the last minutes again and again, because an entry may appear after
 * others with higher ids.
 * @throws ServiceError if the operator may no longer read the trail
 */
export async function* follow(trail: Trail, start: number): AsyncGenerator<AuditEntry> {
  /** No entry up to this id can still appear. */
  let settled = start;
  /** When each later entry was first seen, by id. */
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
      if (!isTransient(error)) throw error;
      trail.onOutage(error);
    }
    await sleep(POLL_MS, undefined, trail.signal && { signal: trail.signal }).catch(() => undefined);
  }
}
