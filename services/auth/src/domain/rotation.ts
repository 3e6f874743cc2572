/** Decides when signing keys are created, used and retired. The clock is a parameter, so that a unit test covers a year. */

export interface KeyTimes {
  keyId: string;
  signFrom: Date;
  /** When the last long-lived token that the key signed expires. Null: it signed none. */
  protectedUntil: Date | null;
}

interface RotationPlan {
  /** When a new key starts to sign. Undefined: none is due. */
  createFrom?: Date;
  /** Ids of keys whose tokens have all expired. */
  retire: string[];
}

export interface RotationRules {
  /** How long a key signs. Infinity: until an operator rotates it. */
  signForMs: number;
  /** How long a key verifies after its successor starts to sign: longer than its short-lived tokens live. */
  keepAfterMs: number;
}

const DAY_MS = 24 * 3600_000;
/** A key is published this long before it signs, so that every replica and verifier learns of it in time. */
const PUBLISH_AHEAD_MS = 600_000;
/** The same for a key that an operator requests. Replicas and verifiers learn of a key within two seconds. */
export const ANNOUNCE_MS = 10_000;

/** Caller and operator tokens live for at most a minute. */
export const CALLER_KEYS: RotationRules = { signForMs: DAY_MS, keepAfterMs: 600_000 };
/** The longest lifetime of an access token of sign-in that an installation may choose: a week. */
export const MAX_ACCESS_TOKEN_SECONDS = 604_800;

/** By the longest lifetime, because the setting may have been longer when a key signed. */
export const TOKEN_KEYS: RotationRules = { signForMs: Infinity, keepAfterMs: (MAX_ACCESS_TOKEN_SECONDS + 600) * 1_000 };

export function planRotation(keys: KeyTimes[], now: Date, rules: RotationRules): RotationPlan {
  const current = currentKey(keys, now);
  if (!current) return { createFrom: now, retire: [] };
  const retire = keys
    .filter((key) => (retirementOf(key, keys, rules)?.getTime() ?? Infinity) < now.getTime())
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

/** The time by which all tokens of this key have expired; undefined while it has no successor. */
export function retirementOf(key: KeyTimes, keys: KeyTimes[], { keepAfterMs }: RotationRules): Date | undefined {
  const later = keys.map(({ signFrom }) => signFrom.getTime()).filter((signFrom) => signFrom > key.signFrom.getTime());
  if (later.length === 0) return undefined;
  return new Date(Math.max(Math.min(...later) + keepAfterMs, key.protectedUntil?.getTime() ?? 0));
}

export function stateOf(key: KeyTimes, keys: KeyTimes[], now: Date): 'announced' | 'signing' | 'verifying' {
  if (key.signFrom > now) return 'announced';
  return key.keyId === currentKey(keys, now)?.keyId ? 'signing' : 'verifying';
}
