import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { CallOptions } from '@crs/kit/rpc/client';
import { ProjectRole } from '@crs/proto/crs/auth/v1/admin';
import { tenant } from '@crs/testing/world';
import {
  ALPHA,
  ANN,
  BETA,
  BOB,
  failureOf,
  organization,
  peopleAndProjects,
  project,
  sharedAuthWorld,
  user,
  type SharedAuthWorld,
} from './_fixtures.ts';

const { PROJECT_ROLE_LEAD: LEAD, PROJECT_ROLE_MEMBER: MEMBER } = ProjectRole;
const GONE = { kind: 'unauthenticated', reason: 'USER_GONE', message: 'The user is gone or disabled.' };

const TENANTS = [tenant('acme'), tenant('globex')] as const;
const [ACME, GLOBEX] = TENANTS;

let world: SharedAuthWorld;
let tokens: Record<string, CallOptions>;
beforeAll(async () => {
  world = await sharedAuthWorld(peopleAndProjects(TENANTS));
  tokens = {};
  for (const id of TENANTS) for (const email of [ANN, BOB]) tokens[`${id} ${email}`] = await world.asUser(id, email);
});

const see = (email: string, id: string = ACME) => world.auth.getVisibleProjects({}, tokens[`${id} ${email}`]);
const versionOf = async (email: string, id: string = ACME) =>
  (await world.auth.getVisibilityVersion({}, tokens[`${id} ${email}`])).version;
const seen = async (email: string) => (await see(email)).projects.map(({ projectId }) => projectId).sort();
const everyVersion = async () => {
  const everybody = TENANTS.flatMap((id) => [ANN, BOB].map((email) => ({ id, email })));
  return Object.fromEntries(
    await Promise.all(everybody.map(async ({ id, email }) => [`${id} ${email}`, await versionOf(email, id)])),
  );
};
/** The users whose version the change increased. Fails if a version decreased. */
async function changedBy(change: () => Promise<unknown>): Promise<string[]> {
  const before = await everyVersion();
  await change();
  const after = await everyVersion();
  for (const [who, version] of Object.entries(after)) expect(version, who).toBeGreaterThanOrEqual(before[who]);
  return Object.keys(after).filter((who) => after[who] !== before[who]);
}

describe('the version of the visible set', () => {
  const add = async (email: string, role: ProjectRole) =>
    world.operator.auth.addMember({ projectId: ALPHA, email, role }, await world.operate(ACME));
  const remove = async (email: string, role: ProjectRole) =>
    world.operator.auth.removeMember({ projectId: ALPHA, email, role }, await world.operate(ACME));
  const annAlone = project(ACME, ALPHA, { created_by: ANN, members: [{ email: ANN, role: 'lead' }] });
  const both = project(ACME, ALPHA, { created_by: ANN, members: [{ email: ANN, role: 'lead' }, { email: BOB }] });
  const nobody = project(ACME, ALPHA);
  const anns = `${ACME} ${ANN}`;
  const bobs = `${ACME} ${BOB}`;
  beforeEach(() => world.load([nobody]));

  it('is the same from GetVisibleProjects as from GetVisibilityVersion', async () => {
    await world.load([both]);
    for (const email of [ANN, BOB]) {
      const { version } = await see(email);
      expect(version).toBe(await versionOf(email));
      expect((await see(email)).version).toBe(version);
    }
  });

  it.each([LEAD, MEMBER])('changes when somebody becomes %s, and not if they already are', async (role) => {
    expect(await changedBy(() => add(BOB, role))).toEqual([bobs]);
    expect(await seen(BOB)).toEqual([ALPHA]);
    expect(await changedBy(() => add(BOB, role))).toEqual([]);
  });

  it.each([LEAD, MEMBER])('changes when somebody stops being %s, and not if they never were', async (role) => {
    await add(BOB, role);
    expect(await changedBy(() => remove(BOB, role))).toEqual([bobs]);
    expect(await seen(BOB)).toEqual([]);
    expect(await changedBy(() => failureOf(remove(BOB, role)))).toEqual([]);
  });

  it('changes when an import gives somebody access', async () => {
    expect(await changedBy(() => world.load([annAlone]))).toEqual([anns]);
    expect(await changedBy(() => world.load([both]))).toContain(bobs);
    expect([await seen(ANN), await seen(BOB)]).toEqual([[ALPHA], [ALPHA]]);
  });

  it("changes when an import removes somebody's access", async () => {
    await world.load([both]);
    expect(await changedBy(() => world.load([annAlone]))).toContain(bobs);
    expect(await seen(BOB)).toEqual([]);
    expect(await changedBy(() => world.load([nobody]))).toEqual([anns]);
    expect(await seen(ANN)).toEqual([]);
  });

  it('changes for both creators when an import changes the creator', async () => {
    await world.load([project(ACME, ALPHA, { created_by: ANN })]);
    expect(await changedBy(() => world.load([project(ACME, ALPHA, { created_by: BOB })]))).toEqual([anns, bobs]);
  });

  it('does not change when an import leaves the people unchanged', async () => {
    await world.load([both]);
    expect(await changedBy(() => world.load([both, { ...both, name: 'Another', summary: 'text', is_archived: true }]))).toEqual(
      [],
    );
  });

  it('does not change for unrelated changes', async () => {
    const changes = [
      () =>
        world.load([
          organization(ACME, { write_surface: true }),
          user(ACME, ANN, { name: 'Ann', password: 'plum tart on a late tram' }),
        ]),
      () => world.load([user(ACME, 'new@example.com')]),
      () => world.load([project(GLOBEX, BETA, { created_by: ANN, members: [{ email: BOB }] }), project(GLOBEX, BETA)]),
      () => world.createKey(ACME),
    ];
    for (const change of changes) expect((await changedBy(change)).filter((who) => who.startsWith(ACME))).toEqual([]);
  });

  it('changes for a user whom another import added while this one waited to remove them', async () => {
    await world.load([annAlone]);
    const before = await versionOf(BOB);
    const bob = `organization = '${ACME}' and email = '${BOB}'`;
    const other = `select from auth.projects where organization = '${ACME}' and project_id = '${ALPHA}' for no key update;
      insert into auth.project_roles select organization, '${ALPHA}', user_id, 'member' from auth.users where ${bob};
      update auth.users set visibility_version = visibility_version + 1 where ${bob}`;
    await world.meanwhile(other, () => world.load([nobody]));
    expect(await seen(BOB)).toEqual([]);
    expect(await versionOf(BOB)).toBe(before + 2);
  });

  it('is correct after imports and member changes to the same projects at the same time', async () => {
    const projects = [ALPHA, BETA];
    const before = await everyVersion();
    await Promise.all(
      Array.from({ length: 6 }, async (_, i) => {
        const all = [ANN, BOB].map((email) => ({ email }));
        if (i % 2 === 0) return world.load(projects.map((id) => project(ACME, id, { members: i % 4 === 0 ? all : [] })));
        for (const projectId of projects) {
          await world.operator.auth.addMember({ projectId, email: BOB, role: LEAD }, await world.operate(ACME));
        }
      }),
    );
    for (const who of [anns, bobs]) expect((await everyVersion())[who]).toBeGreaterThan(before[who]);
    const rows = `select project_id as id from auth.project_roles join auth.users using (organization, user_id)
      where organization = '${ACME}' and email = $1 group by 1 order by 1`;
    for (const email of [ANN, BOB])
      expect(await seen(email)).toEqual((await world.rows<{ id: string }>(rows, [email])).map(({ id }) => id));
    await world.load(projects.map((id) => project(ACME, id)));
  });
});

describe('a user without access', () => {
  const setDisabled = async (disabled: boolean) =>
    world.operator.auth.setUserDisabled({ email: BOB, disabled }, await world.operate(ACME));

  it('sees nothing while disabled, and the same as before when enabled again', async () => {
    await world.load([project(ACME, BETA, { created_by: BOB })]);
    const before = await see(BOB);
    await setDisabled(true);
    expect(await failureOf(see(BOB))).toEqual(GONE);
    expect(await failureOf(versionOf(BOB))).toEqual(GONE);
    expect(await failureOf(see(BOB, GLOBEX))).toBeUndefined();
    await setDisabled(false);
    expect(await see(BOB)).toEqual(before);
  });

  it('sees nothing with a token that names a user of another organization', async () => {
    const [bob] = await world.rows<{ id: string }>(
      `select user_id as id from auth.users where organization = '${GLOBEX}' and email = $1`,
      [BOB],
    );
    const token = await world.signer.sign({ kind: 'user', organization: ACME, userId: bob!.id, scopes: ['calls:read'] }, 30);
    expect(await failureOf(world.auth.getVisibleProjects({}, { token }))).toEqual(GONE);
    expect(await failureOf(world.auth.getVisibilityVersion({}, { token }))).toEqual(GONE);
  });
});
