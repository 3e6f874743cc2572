import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CallOptions } from '@crs/kit/rpc/client';
import {
  ALPHA,
  ANN,
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

const NEW = '00000000-0000-4000-8000-0000000000aa';

let world: AuthWorld;
/** Caller tokens of organizations with the write surface. */
let keys: Record<string, CallOptions>;
beforeAll(async () => {
  world = await startAuthWorld([
    ...PEOPLE_AND_PROJECTS,
    ...TENANTS.map((tenant) => organization(tenant, { write_surface: true })),
  ]);
  keys = {};
  for (const tenant of TENANTS) keys[tenant] = await world.asOrganization(tenant);
});
afterAll(() => world?.close());

const idOf = async (tenant: string, email: string) =>
  (
    await world.rows<{ id: string }>('select user_id as id from auth.users where organization = $1 and email = $2', [
      tenant,
      email,
    ])
  )[0]!.id;
const people = async (tenant: string, projectId: string) =>
  (await world.auth.listProjectPeople({ projectId }, keys[tenant])).people;
const seenBy = async (tenant: string, email: string) => {
  const { projects, version } = await world.auth.getVisibleProjects({}, await world.asUser(tenant, email));
  return { version, ids: projects.map(({ projectId }) => projectId) };
};
const grant = async (projectId: string, lead: string, members: string[] = [], tenant = 'acme', caller = keys[tenant]) =>
  world.auth.grantProject(
    {
      projectId,
      leadUserId: await idOf(tenant, lead),
      memberUserIds: await Promise.all(members.map((email) => idOf(tenant, email))),
    },
    caller,
  );

describe('GrantProject', () => {
  it('shows a new project to its people, in that organization only', async () => {
    const before = await seenBy('acme', BOB);
    expect(await grant(NEW, ANN, [BOB])).toEqual({});
    expect(await people('acme', NEW)).toEqual([
      { email: ANN, name: `${ANN} of acme`, lead: true },
      { email: BOB, name: `${BOB} of acme`, lead: false },
    ]);
    const after = await seenBy('acme', BOB);
    expect(after.ids).toEqual([NEW]);
    expect(after.version).toBeGreaterThan(before.version);
    expect(await people('globex', NEW)).toEqual([]);
    expect((await seenBy('globex', BOB)).ids).toEqual([]);
  });

  it('changes nothing the second time, even if people were added or removed since', async () => {
    const before = await people('acme', NEW);
    await grant(NEW, BOB);
    expect(await people('acme', NEW)).toEqual(before);
    await grant(NEW.toUpperCase(), BOB, [], 'acme');
    expect(await people('acme', NEW)).toEqual(before);
  });

  it('refuses read-only keys, and organizations without the write surface', async () => {
    const apiKey = await world.createKey('acme', { readOnly: true });
    const { callerTokens } = await world.auth.authenticateKey({ apiKey, audiences: ['projects'] });
    const token = callerTokens['projects']!;
    const other = '00000000-0000-4000-8000-0000000000ab';
    expect((await failureOf(grant(other, ANN, [], 'acme', { token })))?.kind).toBe('permission_denied');
    await world.load([organization('closed'), user('closed', ANN)]);
    const closed = await world.asOrganization('closed');
    expect((await failureOf(grant(other, ANN, [], 'closed', closed)))?.kind).toBe('permission_denied');
    expect(await world.rows('select 1 from auth.projects where project_id = $1', [other])).toEqual([]);
  });

  it("gives no role to another organization's user", async () => {
    const other = '00000000-0000-4000-8000-0000000000ac';
    const foreign = { projectId: other, leadUserId: await idOf('globex', ANN), memberUserIds: [] };
    expect(await failureOf(world.auth.grantProject(foreign, keys['acme']))).toBeDefined();
    expect(await world.rows('select 1 from auth.projects where project_id = $1', [other])).toEqual([]);
  });

  it.each(['', 'alpha', `{${ALPHA}}`])('refuses %j, an invalid project id', async (id) => {
    expect(await failureOf(grant(id, ANN))).toMatchObject({ kind: 'invalid_argument', field: 'project_id' });
  });
});

describe('ListProjectPeople', () => {
  it('names everybody once, with leads as leads, in order of e-mail, including disabled users', async () => {
    await world.load([
      user('acme', 'Aaron@example.com', { name: null }),
      project('acme', ALPHA, {
        members: [{ email: BOB }, { email: ANN }, { email: ANN, role: 'lead' }, { email: 'aaron@example.com', role: 'lead' }],
      }),
    ]);
    await world.operator.auth.setUserDisabled({ email: BOB, disabled: true }, await world.operate('acme'));
    expect(await people('acme', ALPHA.toUpperCase())).toEqual([
      { email: 'Aaron@example.com', name: undefined, lead: true },
      { email: ANN, name: `${ANN} of acme`, lead: true },
      { email: BOB, name: `${BOB} of acme`, lead: false },
    ]);
    await world.operator.auth.setUserDisabled({ email: BOB, disabled: false }, await world.operate('acme'));
  });

  it('names nobody for an unknown project or an invalid id', async () => {
    for (const id of ['00000000-0000-4000-8000-0000000000ff', 'alpha', '']) expect(await people('acme', id)).toEqual([]);
  });
});

describe('PutProjectGrants', () => {
  const put = async (
    grants: { projectId: string; createdBy?: string; members: { email: string; lead: boolean }[] }[],
    tenant = 'acme',
  ) => {
    const request = { grants: grants.map((each) => ({ createdBy: undefined, ...each })) };
    return (await world.auth.putProjectGrants(request, await world.operate(tenant))).outcomes;
  };
  const CHANGED = { changed: true, refusedField: '', refusedReason: '' };
  const UNCHANGED = { ...CHANGED, changed: false };

  it('replaces the people of each project, and says which projects changed', async () => {
    const grants = [
      { projectId: ALPHA, createdBy: ANN.toUpperCase(), members: [{ email: BOB, lead: true }] },
      { projectId: NEW, members: [] },
    ];
    expect(await put(grants)).toEqual([CHANGED, CHANGED]);
    expect(await put(grants)).toEqual([UNCHANGED, UNCHANGED]);
    expect((await seenBy('acme', ANN)).ids).toEqual([ALPHA]);
    expect((await seenBy('acme', BOB)).ids).toEqual([ALPHA]);
    expect((await seenBy('globex', ANN)).ids).toEqual([]);
  });

  it('refuses a project with an unknown user, by its field, and stores the others', async () => {
    const refused = (refusedField: string) => ({
      changed: false,
      refusedField,
      refusedReason: 'must be the e-mail of a user of this organization',
    });
    await world.load([user('globex', 'globex@example.com')]);
    const grants = [
      { projectId: ALPHA, createdBy: 'nobody@example.com', members: [] },
      {
        projectId: ALPHA,
        members: [
          { email: ANN, lead: true },
          { email: 'globex@example.com', lead: false },
        ],
      },
      { projectId: NEW, createdBy: BOB, members: [] },
    ];
    expect(await put(grants)).toEqual([refused('created_by'), refused('members[1].email'), CHANGED]);
    expect(await people('acme', ALPHA)).toEqual([{ email: BOB, name: `${BOB} of acme`, lead: true }]);
  });

  it('takes 1,000, and not 1,001', async () => {
    const many = (n: number) =>
      Array.from({ length: n }, (_, i) => ({ projectId: `00000000-0000-4000-c000-${String(i).padStart(12, '0')}`, members: [] }));
    expect(await put(many(1_000))).toHaveLength(1_000);
    expect(await failureOf(put(many(1_001)))).toMatchObject({ kind: 'invalid_argument', field: 'grants' });
  });
});
