import { exportLines } from '@crs/testing/export';
import { recordSender } from '@crs/testing/put-records';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];
const PROJECT = '11111111-2222-4333-8444-555555555555';
const OTHER_PROJECT = '11111111-2222-4333-8444-555555555556';
const UNKNOWN = 'id: must be the id of a stored record, because the line is a merge';
const MIB = 1024 * 1024;

let world: World;
let acme: Awaited<ReturnType<typeof recordSender>>;

const idOf = (n: number) => `00000000-0000-4000-8000-00000000000${n}`;
const entity = (n: number, fields: object = {}, organization = ACME) => ({
  type: 'entity',
  organization,
  project_id: PROJECT,
  id: idOf(n),
  created_at: '2025-03-01T10:00:00.000Z',
  ...fields,
});
const merge = (n: number, fields: object = {}) => ({ type: 'entity', organization: ACME, id: idOf(n), merge: true, ...fields });

async function entitiesOf(organization: string) {
  const lines = (await exportLines(world.operator, organization)) as { type: string; id: string }[];
  return new Map(lines.filter(({ type }) => type === 'entity').map((line) => [line.id, line]));
}

beforeAll(async () => {
  world = await sharedWorld();
  const records = [ACME, GLOBEX].flatMap((organization) => [
    { type: 'organization', id: organization, name: organization },
    { type: 'project', organization, id: PROJECT },
    entity(1, { name: 'Theirs', description: 'Kept.' }, organization),
  ]);
  await world.load([...records, { type: 'project', organization: ACME, id: OTHER_PROJECT }]);
  acme = await recordSender(world, 'entities', ACME);
});
afterAll(() => acme?.close());

describe('a merge of an entity', () => {
  it('keeps what it leaves out, empties by null, and keeps the time of creation', async () => {
    const theirs = await entitiesOf(GLOBEX);
    const changes = { id: idOf(1).toUpperCase(), name: 'Ours', category: 'x', created_at: null, project_id: OTHER_PROJECT };
    expect(await acme.put([merge(1, changes), merge(1, { category: null, is_competitor: true })])).toEqual({
      accepted: 2,
      unchanged: 0,
      created: 0,
      refused: [],
    });
    expect((await entitiesOf(ACME)).get(idOf(1))).toEqual(
      entity(1, { name: 'Ours', description: 'Kept.', is_competitor: true, project_id: OTHER_PROJECT }),
    );
    expect(await entitiesOf(GLOBEX)).toEqual(theirs);
  });

  it('takes effect in the order of the lines, and is unchanged if it changes nothing', async () => {
    const lines = [
      entity(2, { name: 'a' }),
      merge(2, { name: 'b' }),
      entity(2, { name: 'c' }),
      merge(2),
      merge(2, { domain: 'd' }),
    ];
    expect(await acme.put(lines)).toEqual({ accepted: 4, unchanged: 1, created: 1, refused: [] });
    expect((await entitiesOf(ACME)).get(idOf(2))).toEqual(entity(2, { name: 'c', domain: 'd' }));
  });

  it.each<[string, object, string]>([
    ['an unknown id', { id: idOf(9) }, UNKNOWN],
    ['an unknown property', { title: 'x' }, 'title: is not a known property'],
    ['no project', { project_id: null }, 'project_id: must be text'],
    ['an unknown project', { project_id: idOf(9) }, 'project_id: must be a project of this organization'],
    ['a deletion', { deleted: true }, 'deleted: must not be true, because the line is a merge'],
  ])('with %s is refused and changes nothing', async (_, fields, reason) => {
    const before = await entitiesOf(ACME);
    expect(await acme.put([merge(1, fields)])).toMatchObject({ accepted: 0, refused: [`1: ${reason}`] });
    expect(await entitiesOf(ACME)).toEqual(before);
  });

  it('of different properties by several callers at once keeps them all', async () => {
    await acme.put([entity(3)]);
    const fields = ['name', 'category', 'domain', 'overview', 'competitor_tier'];
    await Promise.all(fields.map((field) => acme.put([merge(3, { [field]: field })])));
    expect((await entitiesOf(ACME)).get(idOf(3))).toEqual(entity(3, Object.fromEntries(fields.map((field) => [field, field]))));
  });

  it('may be of two entities that together are longer than a segment, but none may exceed a line', async () => {
    await acme.put([entity(4, { overview: 'x'.repeat(7 * MIB) })]);
    await acme.put([entity(5, { overview: 'y'.repeat(7 * MIB) })]);
    expect(await acme.put([merge(4, { name: 'a' }), merge(5, { name: 'b' })])).toMatchObject({ accepted: 2 });
    const { refused } = await acme.put([merge(4, { description: 'x'.repeat(MIB) })]);
    expect(refused).toEqual(['1: : must be at most 8 MiB long after the merge']);
    await acme.put([4, 5].map((n) => ({ type: 'entity', organization: ACME, id: idOf(n), deleted: true })));
  });
});
