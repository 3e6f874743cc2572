import { beforeAll, describe, expect, it } from 'vitest';
import type { CallOptions } from '@crs/kit/rpc/client';
import { tenant } from '@crs/testing/world';
import {
  ALPHA,
  ANN,
  BOB,
  failureOf,
  organization,
  peopleAndProjects,
  project,
  sharedAuthWorld,
  user,
  type SharedAuthWorld,
} from './_fixtures.ts';

const TENANTS = [tenant('acme'), tenant('globex')] as const;
const [ACME, GLOBEX] = TENANTS;
const CLOSED = tenant('closed');

const NEW = '00000000-0000-4000-8000-0000000000aa';

let world: SharedAuthWorld;
/** Caller tokens of organizations with the write surface. */
let keys: Record<string, CallOptions>;
beforeAll(async () => {
  world = await sharedAuthWorld([
    ...peopleAndProjects(TENANTS),
    ...TENANTS.map((tenant) => organization(tenant, { write_surface: true })),
  ]);
  keys = {};
  for (const tenant of TENANTS) keys[tenant] = await world.asOrganization(tenant);
});

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
/** The organizations of this file that have the project. */
const registered = (projectId: string) =>
  world.rows('select organization from auth.projects where project_id = $1 and organization = any($2)', [
    projectId,
    [ACME, GLOBEX, CLOSED],
  ]);
const grant = async (projectId: string, lead: string, members: string[] = [], tenant = ACME, caller = keys[tenant]) =>
  world.auth.grantProject(
    {
      projectId,
      leadUserId: await idOf(tenant, lead),
      memberUserIds: await Promise.all(members.map((email) => idOf(tenant, email))),
    },
    caller,
  );

describe('GrantProject', () => {
  it('makes a new project visible to its people, in that organization only', async () => {
    const before = await seenBy(ACME, BOB);
    expect(await grant(NEW, ANN, [BOB])).toEqual({});
    expect(await people(ACME, NEW)).toEqual([
      { email: ANN, name: `${ANN} of ${ACME}`, lead: true },
      { email: BOB, name: `${BOB} of ${ACME}`, lead: false },
    ]);
    const after = await seenBy(ACME, BOB);
    expect(after.ids).toEqual([NEW]);
    expect(after.version).toBeGreaterThan(before.version);
    expect(await people(GLOBEX, NEW)).toEqual([]);
    expect((await seenBy(GLOBEX, BOB)).ids).toEqual([]);
  });

  it('changes nothing the second time, even if people were added or removed since', async () => {
    const before = await people(ACME, NEW);
    await grant(NEW, BOB);
    expect(await people(ACME, NEW)).toEqual(before);
    await grant(NEW.toUpperCase(), BOB, [], ACME);
    expect(await people(ACME, NEW)).toEqual(before);
  });

  it('refuses read-only keys, and organizations without the write surface', async () => {
    const apiKey = await world.createKey(ACME, { rights: ['read'] });
    const { callerTokens } = await world.auth.authenticateKey({ apiKey, audiences: ['projects'] });
    const token = callerTokens['projects']!;
    const other = '00000000-0000-4000-8000-0000000000ab';
    expect((await failureOf(grant(other, ANN, [], ACME, { token })))?.kind).toBe('permission_denied');
    await world.load([organization(CLOSED), user(CLOSED, ANN)]);
    const closed = await world.asOrganization(CLOSED);
    expect((await failureOf(grant(other, ANN, [], CLOSED, closed)))?.kind).toBe('permission_denied');
    expect(await registered(other)).toEqual([]);
  });

  it("gives no role to another organization's user", async () => {
    const other = '00000000-0000-4000-8000-0000000000ac';
    const foreign = { projectId: other, leadUserId: await idOf(GLOBEX, ANN), memberUserIds: [] };
    expect(await failureOf(world.auth.grantProject(foreign, keys[ACME]))).toBeDefined();
    expect(await registered(other)).toEqual([]);
  });

  it.each(['', 'alpha', `{${ALPHA}}`])('refuses %j, an invalid project id', async (id) => {
    expect(await failureOf(grant(id, ANN))).toMatchObject({ kind: 'invalid_argument', field: 'project_id' });
  });
});

describe('ListProjectPeople', () => {
  it('lists everybody once, with leads as leads, ordered by e-mail, including disabled users', async () => {
    await world.load([
      user(ACME, 'Aaron@example.com', { name: null }),
      project(ACME, ALPHA, {
        members: [{ email: BOB }, { email: ANN }, { email: ANN, role: 'lead' }, { email: 'aaron@example.com', role: 'lead' }],
      }),
    ]);
    await world.operator.auth.setUserDisabled({ email: BOB, disabled: true }, await world.operate(ACME));
    expect(await people(ACME, ALPHA.toUpperCase())).toEqual([
      { email: 'Aaron@example.com', name: undefined, lead: true },
      { email: ANN, name: `${ANN} of ${ACME}`, lead: true },
      { email: BOB, name: `${BOB} of ${ACME}`, lead: false },
    ]);
    await world.operator.auth.setUserDisabled({ email: BOB, disabled: false }, await world.operate(ACME));
  });

  it('lists nobody for an unknown project or an invalid id', async () => {
    for (const id of ['00000000-0000-4000-8000-0000000000ff', 'alpha', '']) expect(await people(ACME, id)).toEqual([]);
  });
});

describe('PutProjectGrants', () => {
  const put = async (
    grants: { projectId: string; createdBy?: string; members: { email: string; lead: boolean }[] }[],
    tenant = ACME,
  ) => {
    const request = { grants: grants.map((each) => ({ createdBy: undefined, ...each })), check: false, supposedEmails: [] };
    return (await world.auth.putProjectGrants(request, await world.operate(tenant))).outcomes;
  };
  const CHANGED = { changed: true, refusedField: '', refusedReason: '' };
  const UNCHANGED = { ...CHANGED, changed: false };

  it('replaces the people of each project, and returns which projects changed', async () => {
    const grants = [
      { projectId: ALPHA, createdBy: ANN.toUpperCase(), members: [{ email: BOB, lead: true }] },
      { projectId: NEW, members: [] },
    ];
    expect(await put(grants)).toEqual([CHANGED, CHANGED]);
    expect(await put(grants)).toEqual([UNCHANGED, UNCHANGED]);
    expect((await seenBy(ACME, ANN)).ids).toEqual([ALPHA]);
    expect((await seenBy(ACME, BOB)).ids).toEqual([ALPHA]);
    expect((await seenBy(GLOBEX, ANN)).ids).toEqual([]);
  });

  it('refuses a project with an unknown user, by its field, and stores the others', async () => {
    const refused = (refusedField: string) => ({
      changed: false,
      refusedField,
      refusedReason: 'must be the e-mail of a user of this organization',
    });
    await world.load([user(GLOBEX, 'globex@example.com')]);
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
    expect(await people(ACME, ALPHA)).toEqual([{ email: BOB, name: `${BOB} of ${ACME}`, lead: true }]);
  });

  it('accepts 1,000 projects, and not 1,001', async () => {
    const many = (n: number) =>
      Array.from({ length: n }, (_, i) => ({ projectId: `00000000-0000-4000-c000-${String(i).padStart(12, '0')}`, members: [] }));
    expect(await put(many(1_000))).toHaveLength(1_000);
    expect(await failureOf(put(many(1_001)))).toMatchObject({ kind: 'invalid_argument', field: 'grants' });
  });
});
