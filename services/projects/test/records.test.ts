import { exportLines } from '@crs/testing/export';
import { recordSender } from '@crs/testing/put-records';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];
const [ANN, BOB] = ['ann@crs.example', 'bob@crs.example'];
const NO_OFFICE = 'billing_office_name: must be a billing office of this organization';
const NO_USER = 'created_by: must be the e-mail of a user of this organization';

type Sender = Awaited<ReturnType<typeof recordSender>>;
let world: World;
let acme: Sender;

const idOf = (n: number) => `00000000-0000-4000-8000-00000000000${n}`;
const project = (n: number, fields: object = {}, organization = ACME) => ({
  type: 'project',
  organization,
  id: idOf(n),
  created_at: '2025-03-01T10:00:00.000Z',
  ...fields,
});
const office = (name: string, fields: object = {}) => ({ type: 'billing_office', organization: ACME, name, ...fields });

/** What is stored in projects and in auth. */
async function everything(organization: string) {
  const { rows } = await world.query(
    `select u.email, u.visibility_version, p.project_id, r.role from auth.users u
      full join auth.projects p using (organization) left join auth.project_roles r using (organization, user_id, project_id)
      where organization = $1 order by 1, 3, 4`,
    [organization],
  );
  return { lines: await exportLines(world.operator, organization), rows };
}

beforeAll(async () => {
  world = await sharedWorld();
  await world.load(
    [ACME, GLOBEX].flatMap((organization) => [
      { type: 'organization', id: organization, name: organization },
      ...[ANN, BOB].map((email) => ({ type: 'user', organization, email })),
      project(1, { name: 'Theirs', created_by: ANN }, organization),
    ]),
  );
  acme = await recordSender(world, 'projects', ACME);
});
afterAll(() => acme?.close());

it('a key stores projects and offices of its own organization only', async () => {
  const theirs = await everything(GLOBEX);
  const lines = [
    office('Oslo', { is_default: true }),
    office('Oslo'),
    project(1, { name: 'Ours', created_by: BOB, billing_office_name: 'Oslo' }),
    project(2, { members: [{ email: ANN, role: 'lead' }] }),
    project(2, { members: [{ email: ANN, role: 'lead' }] }),
    project(1, {}, GLOBEX),
  ];
  expect(await acme.put(lines)).toEqual({
    accepted: 3,
    unchanged: 2,
    created: 2,
    refused: ['6: organization: must be the organization that the batch is sent for'],
  });
  expect(await everything(GLOBEX)).toEqual(theirs);
});

it('a key without the right ingest stores none, and no key deletes one', async () => {
  const sender = await recordSender(world, 'projects', ACME, ['delete']);
  const refused = ['1: : needs a key with the right ingest', '2: : needs a key with the right ingest'];
  expect(await sender.put([project(1), office('Rome')])).toMatchObject({ accepted: 0, refused });
  sender.close();
  expect(await acme.put([project(1, { deleted: true })])).toMatchObject({ refused: ['1: deleted: must be true or false'] });
});

describe('abort', () => {
  it.each<[string, object, string]>([
    ['an unknown office', project(4, { billing_office_name: 'None' }), NO_OFFICE],
    ['an unknown user', project(4, { created_by: 'eve@crs.example' }), NO_USER],
    ['a merge of nothing', project(4, { merge: true }), 'id: must be the id of a stored record, because the line is a merge'],
    ['a bad value', project(4, { name: 5 }), 'name: must be text'],
  ])('with %s stores nothing, in auth neither', async (_, bad, reason) => {
    const before = await everything(ACME);
    const lines = [
      project(1, { created_by: ANN, members: [{ email: BOB }] }),
      project(3, { created_by: BOB }),
      office('Bern'),
      bad,
    ];
    expect(await acme.put(lines, { abort: true })).toEqual({ accepted: 0, unchanged: 0, created: 0, refused: [`4: ${reason}`] });
    expect(await everything(ACME)).toEqual(before);
  });

  it('without a bad line stores all', async () => {
    const lines = [
      office('Kyiv'),
      project(5, { created_by: ANN, billing_office_name: 'Kyiv' }),
      project(5, { merge: true, name: 'x' }),
    ];
    expect(await acme.put(lines, { abort: true })).toEqual({ accepted: 3, unchanged: 0, created: 2, refused: [] });
    expect((await everything(ACME)).lines).toContainEqual(expect.objectContaining({ id: idOf(5), name: 'x', created_by: ANN }));
  });
});

describe('a check', () => {
  it('stores nothing, in auth neither, and tells the same as the batch itself', async () => {
    const before = await everything(ACME);
    const lines = [
      project(1, { created_by: BOB, members: [{ email: ANN }] }),
      project(6, { created_by: ANN }),
      project(7, { created_by: 'eve@crs.example' }),
      project(6, { merge: true, name: 'x' }),
    ];
    const expected = { accepted: 3, unchanged: 0, created: 1, refused: [`3: ${NO_USER}`] };
    expect(await acme.put(lines, { check: true })).toEqual(expected);
    expect(await everything(ACME)).toEqual(before);
    expect(await acme.put(lines)).toEqual(expected);
  });

  it('takes supposed users, offices and projects for existing, and nothing else does', async () => {
    const before = await everything(ACME);
    const supposed = { emails: ['New@crs.example'], projectIds: [idOf(8)], billingOffices: ['Lima', 'a\0', 'x'.repeat(9_000)] };
    const lines = [
      project(9, {
        created_by: 'new@crs.example',
        members: [{ email: 'NEW@crs.example' }, { email: ANN }],
        billing_office_name: 'Lima',
      }),
      project(8, { merge: true, name: 'x' }),
    ];
    expect(await acme.put(lines, { check: true, supposed })).toEqual({ accepted: 2, unchanged: 0, created: 1, refused: [] });
    expect(await acme.put(lines, { supposed })).toMatchObject({ accepted: 0, refused: [expect.anything(), expect.anything()] });
    expect(await everything(ACME)).toEqual(before);
  });
});
