import { encodeBatch, encodedImporter, fillLine } from '@crs/testing/encoded-batch';
import { expectShortTurns } from '@crs/testing/turns';
import { startWorld, type OwnWorld } from '@crs/testing/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const PROJECT = '00000000-0000-4000-8000-00000000000a';

let world: OwnWorld;
let importer: ReturnType<typeof encodedImporter>;

beforeAll(async () => {
  world = await startWorld();
  await world.load([
    { type: 'organization', id: 'acme' },
    { type: 'project', organization: 'acme', id: PROJECT },
  ]);
  importer = encodedImporter(world, 'entities');
});
afterAll(async () => {
  importer?.close();
  await world?.close();
});

const entity = (i: number) => ({
  type: 'entity',
  organization: 'acme',
  project_id: PROJECT,
  id: `11111111-0000-4000-8000-${String(i).padStart(12, '0')}`,
});

describe('while a batch is imported, no turn of the event loop is long', () => {
  it.each([
    ['two texts of 8 MiB of quotes', 2, (i: number) => fillLine(entity(i), '"overview":"', () => '\\"', '"}')],
    ['200 texts of 64 KiB of quotes', 200, (i: number) => fillLine(entity(i), '"overview":"', () => '\\"', '"}', 65_536)],
  ])(
    '%s',
    async (_, count, line) => {
      const batch = encodeBatch(Array.from({ length: count }, (_each, i) => line(i)));
      await expectShortTurns(async () => {
        await world.query('truncate entities.entities');
        expect(await importer.send('acme', batch)).toEqual({ accepted: count, unchanged: 0, errors: [] });
      });
      const { rows } = await world.query(`select count(*)::int, bool_and(overview ~ '^"+$') as whole from entities.entities`);
      expect(rows).toEqual([{ count, whole: true }]);
    },
    120_000,
  );
});
