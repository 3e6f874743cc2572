import { encodeBatch, encodedImporter, fillLine } from '@crs/testing/encoded-batch';
import { expectShortTurns } from '@crs/testing/turns';
import { startWorld, type OwnWorld } from '@crs/testing/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { project, tenant } from './_records.ts';

let world: OwnWorld;
let importer: ReturnType<typeof encodedImporter>;

beforeAll(async () => {
  world = await startWorld();
  const people = Array.from({ length: 1_000 }, (_, i) => ({ type: 'user', organization: 'acme', email: `${i}@crs.example` }));
  await world.load([...tenant('acme'), ...people]);
  importer = encodedImporter(world, 'projects');
});
afterAll(async () => {
  importer?.close();
  await world?.close();
});

const id = (i: number) => `11111111-0000-4000-8000-${String(i).padStart(12, '0')}`;
const members = (i: number) =>
  Array.from({ length: 1_000 }, (_, j) => ({ email: `${j}@crs.example`, role: i % 2 ? 'lead' : 'member' }));

describe('while a batch is imported, no turn of the event loop of projects or auth is long', () => {
  it.each<[string, () => Buffer[], object]>([
    ['30 projects of 1,000 members', () => many(30, (i) => project('acme', id(i), { members: members(i) })), { errors: [] }],
    ['a text of 8 MiB of quotes', () => [fillLine(project('acme', id(99)), '"summary":"', () => '\\"', '"}')], { errors: [] }],
    [
      '8 MiB of members',
      () => [fillLine(project('acme', id(99)), '"members":[{}', () => ',{}', ']}')],
      { errors: [{ reason: 'must have at most 200000 values' }] },
    ],
    [
      '300 projects of 1,000 people who are not users',
      () =>
        many(300, (i) => project('acme', id(i), { members: Array.from({ length: 1_000 }, (_, j) => ({ email: `${i}@${j}` })) })),
      { accepted: 0 },
    ],
  ])(
    '%s',
    async (_, lines, answer) => {
      const batch = encodeBatch(lines());
      await expectShortTurns(async () => expect(await importer.send('acme', batch)).toMatchObject(answer));
    },
    120_000,
  );
});

function many(count: number, line: (i: number) => object): Buffer[] {
  return Array.from({ length: count }, (_, i) => Buffer.from(JSON.stringify(line(i))));
}
