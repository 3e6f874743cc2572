import type { SettingChanges } from './settings.ts';

/** What has to be done so that a stored list equals a desired one. */
export interface Differences<Desired, Stored> {
  /** In the desired order. */
  added: Desired[];
  changed: { desired: Desired; stored: Stored; changes: SettingChanges }[];
  /** In the stored order. */
  removed: Stored[];
}

/**
 * @param keyOf identifies an item in both lists
 * @param changesOf the differences of two items with the same key
 */
export function compareLists<Desired, Stored>(
  desired: readonly Desired[],
  stored: readonly Stored[],
  keyOf: (item: Desired | Stored) => string,
  changesOf: (desired: Desired, stored: Stored) => SettingChanges,
): Differences<Desired, Stored> {
  const storedByKey = new Map(stored.map((item) => [keyOf(item), item]));
  const differences: Differences<Desired, Stored> = { added: [], changed: [], removed: [] };
  const desiredKeys = new Set<string>();
  for (const item of desired) {
    const key = keyOf(item);
    desiredKeys.add(key);
    const match = storedByKey.get(key);
    if (match === undefined) {
      differences.added.push(item);
      continue;
    }
    const changes = changesOf(item, match);
    if (Object.keys(changes).length > 0) differences.changed.push({ desired: item, stored: match, changes });
  }
  differences.removed = stored.filter((item) => !desiredKeys.has(keyOf(item)));
  return differences;
}

/** @returns the index of the first item that repeats the key of an earlier one */
export function findRepeated<T>(items: readonly T[], keyOf: (item: T) => string): number | undefined {
  const seen = new Set<string>();
  const index = items.findIndex((item) => seen.size === seen.add(keyOf(item)).size);
  return index < 0 ? undefined : index;
}
