/** Decides when signing keys are made, used and retired. The clock is a parameter, so that a unit test covers a year. */

export interface KeyTimes {
  keyId: string;
  signFrom: Date;
  /** The key is kept until then, because tokens that it signed live as long. Null: they live at most minutes. */
  protectsUntil: Date | null;
}

interface RotationPlan {
  /** A key is to be made that signs from this time on. */
  createFrom?: Date;
  /** Ids of keys whose tokens have all expired. */
  retire: string[];
}

/** How keys of one kind come and go. */
interface RotationRules {
  /** A successor is due after this time. Infinity: only operators ask for one. */
  signForMs: number;
  /** A key verifies this long after it has signed for the last time: as long as its tokens live, and replicas take to learn of a successor. */
  keepAfterMs: number;
}

const DAY_MS = 24 * 3600_000;
/** A key is published this long before it signs, so that every replica and every verifier knows it. */
const PUBLISH_AHEAD_MS = 600_000;
/** The same for a key that an operator asks for. Replicas and verifiers learn of a key within two seconds. */
export const ANNOUNCE_MS = 10_000;

/** Tokens live at most a minute. The rest is reserve. */
export const CALLER_KEYS: RotationRules = { signForMs: DAY_MS, keepAfterMs: 600_000 };
/** Tokens of sign-in live ten minutes. The rest is reserve. */
export const TOKEN_KEYS: RotationRules = { signForMs: Infinity, keepAfterMs: 1_200_000 };

export function planRotation(keys: KeyTimes[], now: Date, rules: RotationRules): RotationPlan {
  const current = currentKey(keys, now);
  if (!current) return { createFrom: now, retire: [] };
  const retire = keys
    .filter((key) => (retiresAt(key, keys, rules)?.getTime() ?? Infinity) < now.getTime())
    .map(({ keyId }) => keyId);
  const ends = current.signFrom.getTime() + rules.signForMs;
  const isNewest = keys.every((key) => key.signFrom <= current.signFrom);
  const successorIsDue = isNewest && ends - PUBLISH_AHEAD_MS <= now.getTime();
  return successorIsDue ? { createFrom: new Date(Math.max(ends, now.getTime() + PUBLISH_AHEAD_MS)), retire } : { retire };
}

/** The newest key that may sign at this time. */
export function currentKey<K extends KeyTimes>(keys: K[], now: Date): K | undefined {
  return keys.filter((key) => key.signFrom <= now).toSorted((a, b) => b.signFrom.getTime() - a.signFrom.getTime())[0];
}

/** When the last token of this key has expired, at the latest; undefined as long as it has no successor. */
export function retiresAt(key: KeyTimes, keys: KeyTimes[], { keepAfterMs }: RotationRules): Date | undefined {
  const later = keys.map(({ signFrom }) => signFrom.getTime()).filter((signFrom) => signFrom > key.signFrom.getTime());
  if (later.length === 0) return undefined;
  return new Date(Math.max(Math.min(...later) + keepAfterMs, key.protectsUntil?.getTime() ?? 0));
}

export type KeyState = 'announced' | 'signing' | 'verifying';

export function stateOf(key: KeyTimes, keys: KeyTimes[], now: Date): KeyState {
  if (key.signFrom > now) return 'announced';
  return key.keyId === currentKey(keys, now)?.keyId ? 'signing' : 'verifying';
}
