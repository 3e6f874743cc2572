import { exportLines } from '@crs/testing/export';
import { recordSender } from '@crs/testing/put-records';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];
const [ANN, BOB] = ['ann@crs.example', 'bob@crs.example'];
const UNKNOWN = 'id: must be the id of a stored record, because the line is a merge';

let world: World;
let acme: Awaited<ReturnType<typeof recordSender>>;

const idOf = (n: number) => `00000000-0000-4000-8000-00000000000${n}`;
const PEOPLE = { created_by: ANN, members: [{ email: BOB, role: 'lead' }] };
const project = (n: number, fields: object = {}, organization = ACME) => ({
  type: 'project',
  organization,
  id: idOf(n),
  is_archived: false,
  created_at: '2025-03-01T10:00:00.000Z',
  members: [],
  ...fields,
});
const merge = (n: number, fields: object = {}) => ({ type: 'project', organization: ACME, id: idOf(n), merge: true, ...fields });

async function projectsOf(organization: string) {
  const lines = (await exportLines(world.operator, organization)) as { type: string; id: string }[];
  return new Map(lines.filter(({ type }) => type === 'project').map((line) => [line.id, line]));
}

beforeAll(async () => {
  world = await sharedWorld();
  await world.load(
    [ACME, GLOBEX].flatMap((organization) => [
      { type: 'organization', id: organization, name: organization },
      ...[ANN, BOB].map((email) => ({ type: 'user', organization, email })),
      { type: 'billing_office', organization, name: 'Zurich' },
      project(1, { name: 'One', summary: 'Kept.', ...PEOPLE }, organization),
    ]),
  );
  acme = await recordSender(world, 'projects', ACME);
});
afterAll(() => acme?.close());

describe('a merge of a project', () => {
  it('keeps what it leaves out, the creator and the members included', async () => {
    const theirs = await projectsOf(GLOBEX);
    const changes = { name: 'Two', billing_office_name: 'Zurich', created_at: null };
    expect(await acme.put([merge(1, changes)])).toEqual({ accepted: 1, unchanged: 0, created: 0, refused: [] });
    expect((await projectsOf(ACME)).get(idOf(1))).toEqual(
      project(1, { summary: 'Kept.', ...PEOPLE, name: 'Two', billing_office_name: 'Zurich' }),
    );
    expect(await projectsOf(GLOBEX)).toEqual(theirs);
  });

  it('replaces the members alone, or the creator alone, and null empties each', async () => {
    await acme.put([project(2, PEOPLE)]);
    const after = async (changes: object) => {
      expect(await acme.put([merge(2, changes)])).toMatchObject({ accepted: 1, refused: [] });
      return (await projectsOf(ACME)).get(idOf(2));
    };
    const members = [{ email: ANN, role: 'member' }];
    expect(await after({ members })).toEqual(project(2, { ...PEOPLE, members }));
    expect(await after({ created_by: BOB })).toEqual(project(2, { created_by: BOB, members }));
    expect(await after({ created_by: null })).toEqual(project(2, { members }));
    expect(await after({ members: null })).toEqual(project(2));
  });

  it('takes effect in the order of the lines, and is unchanged if it changes nothing', async () => {
    const lines = [project(3, PEOPLE), merge(3, { name: 'a' }), project(3, { name: 'b', ...PEOPLE }), merge(3, PEOPLE), merge(3)];
    expect(await acme.put(lines)).toEqual({ accepted: 3, unchanged: 2, created: 1, refused: [] });
    expect((await projectsOf(ACME)).get(idOf(3))).toEqual(project(3, { name: 'b', ...PEOPLE }));
  });

  it.each<[string, object, string]>([
    ['an unknown id', { id: idOf(9) }, UNKNOWN],
    ['an unknown property', { owner: 'x' }, 'owner: is not a known property'],
    ['an unknown creator', { created_by: 'eve@crs.example' }, 'created_by: must be the e-mail of a user of this organization'],
    [
      'an unknown member',
      { members: [{ email: 'eve@crs.example' }] },
      'members[0].email: must be the e-mail of a user of this organization',
    ],
    ['an unknown office', { billing_office_name: 'Paris' }, 'billing_office_name: must be a billing office of this organization'],
    ['a deletion', { deleted: true }, 'deleted: must not be true, because the line is a merge'],
  ])('with %s is refused and changes nothing', async (_, fields, reason) => {
    const before = await projectsOf(ACME);
    expect(await acme.put([merge(1, fields)])).toMatchObject({ accepted: 0, refused: [`1: ${reason}`] });
    expect(await projectsOf(ACME)).toEqual(before);
  });

  it('of different properties by several callers at once keeps them all', async () => {
    await acme.put([project(4, PEOPLE)]);
    const changes = {
      name: 'n',
      summary: 's',
      status: 'x',
      is_archived: true,
      created_by: BOB,
      members: [{ email: ANN, role: 'lead' }],
    };
    await Promise.all(Object.entries(changes).map(([name, value]) => acme.put([merge(4, { [name]: value })])));
    expect((await projectsOf(ACME)).get(idOf(4))).toEqual(project(4, changes));
  });
});
