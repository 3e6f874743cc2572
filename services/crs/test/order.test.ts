import { expect, test } from 'vitest';
import { randomFrom } from '@crs/testing/random';
import type { RefusedLine } from '../src/import/route.ts';
import { call, entity, importLines, office, org, project, recorder, user } from './import-lines.ts';
import { memoryImporters } from './memory-importers.ts';

test('a line is not sent before earlier lines of other types', async () => {
  const { sent, send } = recorder();
  await importLines([user('a', '1'), call('a', '1'), user('a', '2'), call('a', '2')], send);
  expect(sent.map(([, , numbers]) => numbers)).toEqual([[1], [2], [3], [4]]);
});

test('deletions of a type are sent in batches of their own', async () => {
  const { sent, send } = recorder();
  const deleted = { deleted: true };
  await importLines([call('a', '1'), call('a', '1', {}, deleted), call('a', '2', {}, deleted), call('a', '1')], send);
  expect(sent.map(([, , numbers]) => numbers)).toEqual([[1], [2, 3], [4]]);
});

test('any file has the same result as if its lines had been sent one by one', async () => {
  const random = randomFrom(42);
  const pick = (count: number) => String(Math.floor(random() * count));
  const organizations = ['a', 'b', 'c'];
  const makers = [
    (o: string) => org(o),
    (o: string) => user(o, pick(5)),
    (o: string) => user(o, pick(5), { deleted: true }),
    (o: string) => project(o, pick(5), [pick(5)]),
    (o: string) => call(o, pick(20), { project: pick(5), user: pick(5) }),
    (o: string) => call(o, pick(20), { project: pick(5) }),
    (o: string) => call(o, pick(20), {}, { deleted: true }),
    (o: string) => office(o, pick(3)),
    (o: string) => project(o, pick(5), [], { office: pick(3) }),
    (o: string) => project(o, pick(5), [], { deleted: true }),
    (o: string) => entity(o, pick(20), pick(5)),
    (o: string) => entity(o, pick(20), pick(5), { project: undefined, deleted: true }),
    () => 'no JSON',
    () => '',
  ];
  for (let round = 0; round < 60; round++) {
    // Short runs of the same type, so that batches have several lines.
    const lines = Array.from({ length: 60 }, () => makers[Math.floor(random() * makers.length)]!).flatMap((make) =>
      Array.from({ length: 1 + Math.floor(random() * 4) }, () => make(organizations[Number(pick(3))]!)),
    );
    const batched = memoryImporters();
    const { summary, refused } = await importLines(lines, batched.send);

    const single = memoryImporters();
    const counts = { accepted: 0, unchanged: 0 };
    const expected: RefusedLine[] = [];
    for (const [i, line] of lines.entries()) {
      const blank: string[] = Array.from({ length: i }, () => '');
      const one = await importLines([...blank, line], single.send);
      counts.accepted += one.summary.accepted;
      counts.unchanged += one.summary.unchanged;
      expected.push(...one.refused);
    }
    expect(refused).toEqual(expected);
    expect(summary).toMatchObject({ ...counts, lines: lines.length - (lines.at(-1) === '' ? 1 : 0), refused: expected.length });
    expect(batched.state()).toEqual(single.state());
  }
});

test('several lines of one record take effect in the order of the file, even if their batches take unequal time', async () => {
  const random = randomFrom(7);
  const lines = [org('a')].concat(
    Array.from({ length: 24_000 }, (_, n) => call('a', String(Math.floor(random() ** 4 * 20_000)), {}, { summary: String(n) })),
  );
  const stored = memoryImporters();
  let inFlight = 0;
  let maxInFlight = 0;
  await importLines(lines, async (batch) => {
    maxInFlight = Math.max(maxInFlight, ++inFlight);
    await new Promise((resolve) => setTimeout(resolve, random() * 20));
    inFlight--;
    return stored.send(batch);
  });
  const inOrder = memoryImporters();
  for (const line of lines) {
    const json = Buffer.from(JSON.stringify(line));
    await inOrder.send({ service: 'calls', organization: 'a', lines: [{ number: 1, json, id: line.id }] });
  }
  expect(stored.state()).toEqual(inOrder.state());
  expect(maxInFlight).toBeLessThanOrEqual(3);
});
