/** Decides when caller keys are made, used and dropped. The clock is a parameter, so that a unit test covers a year. */

export interface KeyTimes {
  keyId: string;
  signFrom: Date;
}

export interface RotationPlan {
  /** A key is to be made that signs from this time on. */
  createFrom?: Date;
  /** Ids of keys whose tokens have all expired. */
  drop: string[];
}

const SIGN_FOR_MS = 24 * 3600_000;
/** A key is published this long before it signs, so that every replica and every verifier knows it. */
const PUBLISH_AHEAD_MS = 600_000;
/** Tokens live at most a minute, and replicas learn of a successor within another minute; the rest is reserve. */
const KEEP_AFTER_MS = 600_000;

export function planRotation(keys: KeyTimes[], now: Date): RotationPlan {
  const sorted = keys.toSorted((a, b) => b.signFrom.getTime() - a.signFrom.getTime());
  const current = currentKey(sorted, now);
  if (!current) return { createFrom: now, drop: [] };
  const currentIsOld = current.signFrom.getTime() < now.getTime() - KEEP_AFTER_MS;
  const drop = currentIsOld ? sorted.filter((key) => key.signFrom < current.signFrom).map((key) => key.keyId) : [];
  const ends = current.signFrom.getTime() + SIGN_FOR_MS;
  const successorIsDue = sorted[0] === current && ends - PUBLISH_AHEAD_MS <= now.getTime();
  return successorIsDue ? { createFrom: new Date(Math.max(ends, now.getTime() + PUBLISH_AHEAD_MS)), drop } : { drop };
}

/** The newest key that may sign at this time. */
export function currentKey<K extends KeyTimes>(keys: K[], now: Date): K | undefined {
  return keys.filter((key) => key.signFrom <= now).toSorted((a, b) => b.signFrom.getTime() - a.signFrom.getTime())[0];
}
