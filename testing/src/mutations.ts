/** Variants of JSON values, for tests that a schema and a validator agree. */

const ODD = [
  undefined, null, true, false, 0, -1, 2.5, 6, '', 'x', 'lead', 'done', 'a\0b', 'a\ud800', 'a@b', 'a @b', '2025-02-28T23:59:59.1234567+01:00', '2025-02-29T00:00:00Z',
  '2025-02-28 00:00:00Z', '2025-02-28T00:00:60Z', '0000-01-01T00:00:00Z', '11111111-2222-4333-8444-55555555555A', '{11111111-2222-4333-8444-555555555555}',
  'x'.repeat(201), 'é'.repeat(255), [], ['x'], [{}], {}, { x: 1 },
]; // prettier-ignore

/** Generates variants of a JSON value: each value replaced by each odd value, and each object with an unknown property, at any depth. In lists, only the first item varies. */
export function* mutations(line: unknown): Generator<unknown> {
  yield* ODD;
  if (Array.isArray(line)) for (const changed of mutations(line[0])) yield [changed, ...line.slice(1, 2)];
  else if (typeof line === 'object' && line !== null) {
    yield { ...line, unknown: 1 };
    for (const [key, value] of Object.entries(line)) for (const changed of mutations(value)) yield { ...line, [key]: changed };
  }
}
