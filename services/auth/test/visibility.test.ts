import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { CallOptions } from '@crs/kit/rpc/client';
import { ProjectRole } from '@crs/proto/crs/auth/v1/admin';
import {
  ALPHA,
  ANN,
  BETA,
  BOB,
  failureOf,
  organization,
  PEOPLE_AND_PROJECTS,
  project,
  startAuthWorld,
  TENANTS,
  user,
  type AuthWorld,
} from './_fixtures.ts';

const { PROJECT_ROLE_LEAD: LEAD, PROJECT_ROLE_MEMBER: MEMBER } = ProjectRole;
const GONE = { kind: 'unauthenticated', reason: 'USER_GONE', message: 'The user is gone or disabled.' };

let world: AuthWorld;
let tokens: Record<string, CallOptions>;
beforeAll(async () => {
  world = await startAuthWorld(PEOPLE_AND_PROJECTS);
  tokens = {};
  for (const tenant of TENANTS) for (const email of [ANN, BOB]) tokens[`${tenant} ${email}`] = await world.asUser(tenant, email);
});
afterAll(() => world?.close());

const see = (email: string, tenant = 'acme') => world.auth.getVisibleProjects({}, tokens[`${tenant} ${email}`]);
const versionOf = async (email: string, tenant = 'acme') =>
  (await world.auth.getVisibilityVersion({}, tokens[`${tenant} ${email}`])).version;
const seen = async (email: string, tenant = 'acme') =>
  (await see(email, tenant)).projects.map(({ projectId }) => projectId).sort();
const everyVersion = async () => {
  const everybody = TENANTS.flatMap((tenant) => [ANN, BOB].map((email) => ({ tenant, email })));
  return Object.fromEntries(
    await Promise.all(everybody.map(async ({ tenant, email }) => [`${tenant} ${email}`, await versionOf(email, tenant)])),
  );
};
/** The users whose version the change moved. Fails if a version went back. */
async function movedBy(change: () => Promise<unknown>): Promise<string[]> {
  const before = await everyVersion();
  await change();
  const after = await everyVersion();
  for (const [who, version] of Object.entries(after)) expect(version, who).toBeGreaterThanOrEqual(before[who]);
  return Object.keys(after).filter((who) => after[who] !== before[who]);
}

describe('the projects that a user sees', () => {
  /** Every combination of the three reasons in acme, and the opposite in globex under the same ids. */
  const combinations = Array.from({ length: 8 }, (_, bits) => ({
    projectId: `00000000-0000-4000-9000-00000000000${bits}`,
    created: (bits & 1) > 0,
    lead: (bits & 2) > 0,
    member: (bits & 4) > 0,
  }));
  const opposite = combinations.map(({ projectId, created, lead, member }) => ({
    projectId,
    created: !created,
    lead: !lead,
    member: !member,
  }));
  const record = (tenant: string, { projectId, created, lead, member }: (typeof combinations)[number]) =>
    project(tenant, projectId, {
      created_by: created ? ANN : BOB,
      members: [...(lead ? [{ email: ANN, role: 'lead' }] : []), ...(member ? [{ email: ANN, role: 'member' }] : [])],
    });
  const visible = (all: typeof combinations) => all.filter(({ created, lead, member }) => created || lead || member);

  beforeAll(() => world.load([...combinations.map((c) => record('acme', c)), ...opposite.map((c) => record('globex', c))]));
  afterAll(() => world.load(TENANTS.flatMap((tenant) => combinations.map(({ projectId }) => project(tenant, projectId)))));

  it('are those that they created, lead or are a member of, each once and with every reason', async () => {
    const { projects } = await see(ANN);
    expect(projects.toSorted((a, b) => (a.projectId < b.projectId ? -1 : 1))).toEqual(visible(combinations));
  });

  it('never include projects of another organization, even with the same ids', async () => {
    const { projects } = await see(ANN, 'globex');
    expect(projects.toSorted((a, b) => (a.projectId < b.projectId ? -1 : 1))).toEqual(visible(opposite));
  });

  it('do not include projects that only others created', async () => {
    expect(await seen(BOB)).toEqual(combinations.filter(({ created }) => !created).map(({ projectId }) => projectId));
  });

  it('come with the same version that GetVisibilityVersion returns', async () => {
    expect((await see(ANN)).version).toBe(await versionOf(ANN));
    expect((await see(ANN)).version).toBe((await see(ANN)).version);
  });
});

describe('the version of the visible set', () => {
  const add = async (email: string, role: ProjectRole) =>
    world.operator.auth.addMember({ projectId: ALPHA, email, role }, await world.operate('acme'));
  const remove = async (email: string, role: ProjectRole) =>
    world.operator.auth.removeMember({ projectId: ALPHA, email, role }, await world.operate('acme'));
  const annAlone = project('acme', ALPHA, { created_by: ANN, members: [{ email: ANN, role: 'lead' }] });
  const both = project('acme', ALPHA, { created_by: ANN, members: [{ email: ANN, role: 'lead' }, { email: BOB }] });
  const nobody = project('acme', ALPHA);
  const anns = `acme ${ANN}`;
  const bobs = `acme ${BOB}`;
  beforeEach(() => world.load([nobody]));

  it.each([LEAD, MEMBER])('moves when somebody becomes %s, and not if they already are', async (role) => {
    expect(await movedBy(() => add(BOB, role))).toEqual([bobs]);
    expect(await seen(BOB)).toEqual([ALPHA]);
    expect(await movedBy(() => add(BOB, role))).toEqual([]);
  });

  it.each([LEAD, MEMBER])('moves when somebody stops being %s, and not if they were none', async (role) => {
    await add(BOB, role);
    expect(await movedBy(() => remove(BOB, role))).toEqual([bobs]);
    expect(await seen(BOB)).toEqual([]);
    expect(await movedBy(() => failureOf(remove(BOB, role)))).toEqual([]);
  });

  it('moves when an import lets somebody in', async () => {
    expect(await movedBy(() => world.load([annAlone]))).toEqual([anns]);
    expect(await movedBy(() => world.load([both]))).toContain(bobs);
    expect([await seen(ANN), await seen(BOB)]).toEqual([[ALPHA], [ALPHA]]);
  });

  it('moves when an import keeps somebody out', async () => {
    await world.load([both]);
    expect(await movedBy(() => world.load([annAlone]))).toContain(bobs);
    expect(await seen(BOB)).toEqual([]);
    expect(await movedBy(() => world.load([nobody]))).toEqual([anns]);
    expect(await seen(ANN)).toEqual([]);
  });

  it('moves for both creators when an import changes the creator', async () => {
    await world.load([project('acme', ALPHA, { created_by: ANN })]);
    expect(await movedBy(() => world.load([project('acme', ALPHA, { created_by: BOB })]))).toEqual([anns, bobs]);
  });

  it('does not move when an import leaves the people unchanged', async () => {
    await world.load([both]);
    expect(await movedBy(() => world.load([both, { ...both, name: 'Another', summary: 'text', is_archived: true }]))).toEqual([]);
  });

  it('does not move for unrelated changes', async () => {
    const changes = [
      () =>
        world.load([
          organization('acme', { write_surface: true }),
          user('acme', ANN, { name: 'Ann', password: 'plum tart on a late tram' }),
        ]),
      () => world.load([user('acme', 'new@example.com')]),
      () => world.load([project('globex', BETA, { created_by: ANN, members: [{ email: BOB }] }), project('globex', BETA)]),
      () => world.createKey('acme'),
    ];
    for (const change of changes) expect((await movedBy(change)).filter((who) => who.startsWith('acme'))).toEqual([]);
  });

  it('moves for a user whom another import added while this one waited to remove them', async () => {
    await world.load([annAlone]);
    const before = await versionOf(BOB);
    const bob = `organization = 'acme' and email = '${BOB}'`;
    const other = `select from auth.projects where organization = 'acme' and project_id = '${ALPHA}' for no key update;
      insert into auth.project_roles select organization, '${ALPHA}', user_id, 'member' from auth.users where ${bob};
      update auth.users set visibility_version = visibility_version + 1 where ${bob}`;
    await world.meanwhile(other, () => world.load([nobody]));
    expect(await seen(BOB)).toEqual([]);
    expect(await versionOf(BOB)).toBe(before + 2);
  });

  it('is right after imports and members change the same projects at the same time', async () => {
    const projects = [ALPHA, BETA];
    const before = await everyVersion();
    await Promise.all(
      Array.from({ length: 6 }, async (_, i) => {
        const all = [ANN, BOB].map((email) => ({ email }));
        if (i % 2 === 0) return world.load(projects.map((id) => project('acme', id, { members: i % 4 === 0 ? all : [] })));
        for (const projectId of projects) {
          await world.operator.auth.addMember({ projectId, email: BOB, role: LEAD }, await world.operate('acme'));
        }
      }),
    );
    for (const who of [anns, bobs]) expect((await everyVersion())[who]).toBeGreaterThan(before[who]);
    const rows = `select project_id as id from auth.project_roles join auth.users using (organization, user_id)
      where organization = 'acme' and email = $1 group by 1 order by 1`;
    for (const email of [ANN, BOB])
      expect(await seen(email)).toEqual((await world.rows<{ id: string }>(rows, [email])).map(({ id }) => id));
    await world.load(projects.map((id) => project('acme', id)));
  });
});

describe('a user without access', () => {
  const setDisabled = async (disabled: boolean) =>
    world.operator.auth.setUserDisabled({ email: BOB, disabled }, await world.operate('acme'));

  it('sees nothing while disabled, and the same as before when enabled again', async () => {
    await world.load([project('acme', BETA, { created_by: BOB })]);
    const before = await see(BOB);
    await setDisabled(true);
    expect(await failureOf(see(BOB))).toEqual(GONE);
    expect(await failureOf(versionOf(BOB))).toEqual(GONE);
    expect(await failureOf(see(BOB, 'globex'))).toBeUndefined();
    await setDisabled(false);
    expect(await see(BOB)).toEqual(before);
  });

  it('is also one whose token names a user of another organization', async () => {
    const [bob] = await world.rows<{ id: string }>(
      `select user_id as id from auth.users where organization = 'globex' and email = $1`,
      [BOB],
    );
    const token = await world.signer.sign({ kind: 'user', organization: 'acme', userId: bob!.id, scopes: ['calls:read'] }, 30);
    expect(await failureOf(world.auth.getVisibleProjects({}, { token }))).toEqual(GONE);
    expect(await failureOf(world.auth.getVisibilityVersion({}, { token }))).toEqual(GONE);
  });
});
