/** When caller keys are made, used and dropped. Pure, so that a year of rotations is a unit test. */

export interface KeyTimes {
  keyId: string;
  signFrom: Date;
}

export interface RotationPlan {
  /** Make a key that signs from then on. */
  createFrom?: Date;
  /** No token of theirs can be alive any more. */
  drop: string[];
}

const SIGN_FOR_MS = 24 * 3600_000;
/** A key is published this long before it signs, so that every replica and every verifier knows it. */
const PUBLISH_AHEAD_MS = 600_000;
/** Tokens live at most a minute; replicas learn of a successor within another. */
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

/** The newest key that may sign by now. */
export function currentKey<K extends KeyTimes>(keys: K[], now: Date): K | undefined {
  return keys.filter((key) => key.signFrom <= now).toSorted((a, b) => b.signFrom.getTime() - a.signFrom.getTime())[0];
}
