import { beforeAll, describe, expect, it } from 'vitest';
import { ProjectRole } from '@crs/proto/crs/auth/v1/admin';
import { tenant } from '@crs/testing/world';
import {
  ALPHA,
  ANN,
  BETA,
  BOB,
  failureOf,
  peopleAndProjects,
  project,
  sharedAuthWorld,
  user,
  type SharedAuthWorld,
} from './_fixtures.ts';

const TENANTS = [tenant('acme'), tenant('globex')] as const;
const [ACME, GLOBEX] = TENANTS;

const { PROJECT_ROLE_LEAD: LEAD, PROJECT_ROLE_MEMBER: MEMBER, PROJECT_ROLE_UNSPECIFIED: NONE } = ProjectRole;
const GAMMA = '00000000-0000-4000-8000-00000000000c';

let world: SharedAuthWorld;
beforeAll(async () => {
  world = await sharedAuthWorld([...peopleAndProjects(TENANTS), project(GLOBEX, GAMMA), user(GLOBEX, 'globex@example.com')]);
});

interface Target {
  email?: string;
  projectId?: string;
  role?: ProjectRole;
}
const request = ({ email = ANN, projectId = ALPHA, role = MEMBER }: Target) => ({ email, projectId, role });
const add = async (target: Target = {}, tenant = ACME) =>
  world.operator.auth.addMember(request(target), await world.operate(tenant));
const remove = async (target: Target = {}, tenant = ACME) =>
  world.operator.auth.removeMember(request(target), await world.operate(tenant));
/** The roles of both organizations, each as `organization e-mail project role`. */
const roles = async () =>
  (
    await world.rows<{ role: string }>(
      `select concat_ws(' ', organization, email, right(project_id::text, 1), role) as role
        from auth.project_roles join auth.users using (organization, user_id) where organization = any($1) order by 1`,
      [TENANTS],
    )
  ).map(({ role }) => role);

describe('adding a member', () => {
  it('gives the role, in that organization only', async () => {
    expect(await add()).toEqual({});
    expect(await roles()).toEqual([`${ACME} ${ANN} a member`]);
    await add({}, GLOBEX);
    expect(await roles()).toEqual([`${ACME} ${ANN} a member`, `${GLOBEX} ${ANN} a member`]);
  });

  it('again changes nothing', async () => {
    const before = await roles();
    expect(await add()).toEqual({});
    expect(await roles()).toEqual(before);
  });

  it('accepts the e-mail and the project id in any letter case', async () => {
    await add({ email: BOB.toUpperCase(), projectId: BETA.toUpperCase() });
    expect(await roles()).toContain(`${ACME} ${BOB} b member`);
  });

  it("keeps the member's other role", async () => {
    await add({ role: LEAD });
    expect(await roles()).toEqual(expect.arrayContaining([`${ACME} ${ANN} a lead`, `${ACME} ${ANN} a member`]));
  });

  it('works for many projects and people at the same time', async () => {
    const projects = Array.from({ length: 8 }, (_, i) => `00000000-0000-4000-b000-00000000000${i}`);
    await world.load(projects.map((id) => project(ACME, id)));
    const targets = projects.flatMap((projectId) =>
      [ANN, BOB].flatMap((email) => [LEAD, MEMBER].map((role) => ({ projectId, email, role }))),
    );
    await Promise.all(targets.map((target) => add(target)));
    await Promise.all(targets.map((target) => remove(target)));
  });

  it('refuses the 1,001st member, because an import takes at most 1,000, but accepts an existing member again', async () => {
    const full = '00000000-0000-4000-b000-0000000000ff';
    const emails = Array.from({ length: 1_000 }, (_, i) => `${i}@example.com`);
    await world.load(emails.map((email) => user(ACME, email)));
    await world.load([project(ACME, full, { members: emails.slice(1).map((email) => ({ email })) })]);
    await add({ projectId: full, email: emails[0]! });
    await add({ projectId: full, email: emails[0]! });
    expect(await failureOf(add({ projectId: full }))).toMatchObject({
      kind: 'failed_precondition',
      message: "The project has 1000 members, and can't have more. Remove one, then add this one.",
    });
    const members = `select count(*)::int as count from auth.project_roles where organization = $1 and project_id = '${full}'`;
    expect(await world.rows(members, [ACME])).toEqual([{ count: 1_000 }]);
  });

  it('works for a disabled user', async () => {
    await world.load([user(ACME, 'gone@example.com')]);
    await world.operator.auth.setUserDisabled({ email: 'gone@example.com', disabled: true }, await world.operate(ACME));
    await add({ email: 'gone@example.com' });
    expect(await roles()).toContain(`${ACME} gone@example.com a member`);
  });
});

describe('removing a member', () => {
  it('revokes that role, in that organization only', async () => {
    for (const tenant of TENANTS) for (const role of [LEAD, MEMBER]) await add({ role }, tenant);
    expect(await remove({ role: LEAD })).toEqual({ groups: [] });
    const left = await roles();
    expect(left).not.toContain(`${ACME} ${ANN} a lead`);
    expect(left).toEqual(
      expect.arrayContaining([`${ACME} ${ANN} a member`, `${GLOBEX} ${ANN} a lead`, `${GLOBEX} ${ANN} a member`]),
    );
  });

  it('returns not_found without that role, and changes nothing', async () => {
    await add();
    await remove();
    const before = await roles();
    expect((await failureOf(remove()))?.kind).toBe('not_found');
    expect(await roles()).toEqual(before);
  });
});

describe.each([
  ['add', add],
  ['remove', remove],
])('%s', (_, change) => {
  it.each<[string, string, Target]>([
    ['an unknown user', 'not_found', { email: 'nobody@example.com' }],
    ["another organization's user", 'not_found', { email: 'globex@example.com' }],
    ['an unknown project', 'not_found', { projectId: '00000000-0000-4000-8000-0000000000ff' }],
    ["another organization's project", 'not_found', { projectId: GAMMA }],
    ['an empty e-mail', 'invalid_argument', { email: '' }],
    ['NUL in the e-mail', 'invalid_argument', { email: `${ANN}\u0000` }],
    ['an invalid project id', 'invalid_argument', { projectId: 'alpha' }],
    ['an empty project id', 'invalid_argument', { projectId: '' }],
    ['braces around the project id', 'invalid_argument', { projectId: `{${ALPHA}}` }],
    ['no role', 'invalid_argument', { role: NONE }],
    ['an unknown role', 'invalid_argument', { role: 9 as unknown as ProjectRole }],
  ])('refuses %s', async (_, kind, target) => {
    const before = await roles();
    expect((await failureOf(change(target)))?.kind).toBe(kind);
    expect(await roles()).toEqual(before);
  });

  it('refuses an unknown organization', async () => {
    expect((await failureOf(change({}, tenant('nowhere'))))?.kind).toBe('not_found');
  });
});
