/** Where canaries occur in records, and how often. */
import { CANARY } from './person.ts';

/** Number of canaries by path, such as `participants[].name` or `calls.calls.summary`. */
export type Hits = Map<string, number>;

/** Counts the canaries in a value of JSON. */
export function countIn(value: unknown, path: string, hits: Hits): void {
  if (typeof value === 'string') add(hits, path, value.match(CANARY)?.length ?? 0);
  else if (Array.isArray(value)) for (const each of value) countIn(each, `${path}[]`, hits);
  else if (typeof value === 'object' && value !== null) {
    for (const [name, each] of Object.entries(value)) {
      countIn(name, `${path}{}`, hits);
      countIn(each, path === '' ? name : `${path}.${name}`, hits);
    }
  }
}

export function add(hits: Hits, path: string, count: number): void {
  if (count > 0) hits.set(path, (hits.get(path) ?? 0) + count);
}

export function total(hits: Hits): number {
  return [...hits.values()].reduce((sum, count) => sum + count, 0);
}

/** Returns a sentence for each path with another number of canaries than expected. */
export function differences(found: Hits, expected: Hits): string[] {
  return [...new Set([...found.keys(), ...expected.keys()])]
    .filter((path) => found.get(path) !== expected.get(path))
    .map((path) => `${found.get(path) ?? 0} canaries in ${path} instead of ${expected.get(path) ?? 0}`);
}
