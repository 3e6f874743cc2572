import { beforeAll, describe, expect, it } from 'vitest';
import { ProjectRole } from '@crs/proto/crs/auth/v1/admin';
import { filtered, GROUP, newGroup, newUser, openDirectory, patch, type Directory } from '@crs/testing/scim';
import { tenant } from '@crs/testing/world';
import { ALPHA, BETA, failureOf, organization, project, sharedAuthWorld, type SharedAuthWorld } from './_fixtures.ts';

const TENANTS = [tenant('acme'), tenant('globex')] as const;
const [ACME, GLOBEX] = TENANTS;
const NOBODY = '00000000-0000-4000-8000-0000000000ff';
const { PROJECT_ROLE_LEAD: LEAD, PROJECT_ROLE_MEMBER: MEMBER } = ProjectRole;

let world: SharedAuthWorld;
let acme: Directory;
let globex: Directory;
/** The ids of users of acme. */
const ids: Record<'ann' | 'bob' | 'cem', string> = { ann: '', bob: '', cem: '' };

beforeAll(async () => {
  world = await sharedAuthWorld(TENANTS.flatMap((id) => [organization(id), project(id, ALPHA), project(id, BETA)]));
  const open = (id: string) => openDirectory(world.operator, world.stack.addresses.tools, id);
  [acme, globex] = await Promise.all([open(ACME), open(GLOBEX)]);
  for (const name of ['ann', 'bob', 'cem'] as const) {
    ids[name] = (await acme('POST', '/Users', newUser(`${name}@x.example`))).body.id;
    await globex('POST', '/Users', newUser(`${name}@x.example`));
  }
});

let made = 0;
const create = async (members: string[], name = `Group ${++made}`) => {
  const { status, body } = await acme('POST', '/Groups', newGroup(name, members));
  expect(status).toBe(201);
  return { id: body.id as string, name };
};
const map = async (group: string, role: ProjectRole = MEMBER, projectId = ALPHA, tenant = ACME) =>
  world.operator.auth.mapScimGroup({ map: { group, projectId, role } }, await world.operate(tenant));
const unmap = async (group: string, role: ProjectRole = MEMBER, projectId = ALPHA, tenant = ACME) =>
  world.operator.auth.unmapScimGroup({ map: { group, projectId, role } }, await world.operate(tenant));
const membersOf = async (id: string) =>
  ((await acme('GET', `/Groups/${id}`)).body.members as { value: string }[]).map(({ value }) => value).toSorted();
/** What users of acme see, each as `e-mail: project role`. */
const seen = async () => {
  const views = await Promise.all(
    (['ann', 'bob', 'cem'] as const).map(async (name) => {
      const { projects } = await world.auth.getVisibleProjects({}, await world.asUser(ACME, `${name}@x.example`));
      return projects.flatMap(({ projectId, lead, member }) => [
        ...(lead ? [`${name}: ${projectId.at(-1)} lead`] : []),
        ...(member ? [`${name}: ${projectId.at(-1)} member`] : []),
      ]);
    }),
  );
  return views.flat();
};
const sorted = (...members: string[]) => members.toSorted();

describe('a group', () => {
  it('is created, found by its name in any case, and listed with and without its members', async () => {
    const { id, name } = await create([ids.ann, ids.bob]);
    const resource = (await acme('GET', `/Groups/${id}`)).body;
    expect(resource).toEqual({
      schemas: [GROUP],
      id,
      displayName: name,
      members: sorted(ids.ann, ids.bob).map((value) => ({
        value,
        $ref: `http://tools.example/scim/v2/Users/${value}`,
        type: 'User',
      })),
      meta: {
        resourceType: 'Group',
        created: expect.any(String),
        lastModified: expect.any(String),
        location: `http://tools.example/scim/v2/Groups/${id}`,
      },
    });
    const byName = filtered('Groups', `displayName eq "${name.toUpperCase()}"`);
    expect((await acme('GET', byName)).body).toMatchObject({ totalResults: 1, Resources: [resource] });
    const { members: _, ...withoutMembers } = resource;
    expect((await acme('GET', `${byName}&excludedAttributes=members`)).body.Resources).toEqual([withoutMembers]);
    for (const [members, total] of [
      [[ids.ann], 1],
      [[ids.bob, ids.ann, ids.bob], 1],
      [[ids.ann, ids.cem], 0],
      [[NOBODY], 0],
    ] as const) {
      const filter = [`id eq "${id}"`, ...members.map((member) => `members.value eq "${member}"`)].join(' and ');
      expect((await acme('GET', filtered('Groups', filter))).body.totalResults).toBe(total);
    }
    expect((await globex('GET', byName)).body.totalResults).toBe(0);
    expect((await globex('GET', `/Groups/${id}`)).status).toBe(404);
    expect((await globex('DELETE', `/Groups/${id}`)).status).toBe(404);
  });

  it('has a name of its own, whatever the case', async () => {
    const [one, other] = [await create([]), await create([])];
    const name = one.name.toUpperCase();
    for (const [method, path, body] of [
      ['POST', '/Groups', newGroup(name)],
      ['PUT', `/Groups/${other.id}`, newGroup(name)],
      ['PATCH', `/Groups/${other.id}`, patch({ op: 'replace', path: 'displayName', value: name })],
    ] as const) {
      expect(await acme(method, path, body)).toMatchObject({ status: 409, body: { scimType: 'uniqueness' } });
    }
  });

  it.each([
    ['members that no user is', newGroup('x', [NOBODY])],
    ['members without an id', { ...newGroup('x'), members: ['ann'] }],
    ['no name', { ...newGroup(''), members: [] }],
    ['a name of 257 characters', newGroup('x'.repeat(257))],
  ])('is refused with %s', async (_, body) => {
    expect(await acme('POST', '/Groups', body)).toMatchObject({ status: 400, body: { scimType: 'invalidValue' } });
    expect((await acme('GET', filtered('Groups', 'displayName eq "x"'))).body.totalResults).toBe(0);
  });

  it("can't have members of another organization", async () => {
    const { id } = (await globex('GET', filtered('Users', 'userName eq "ann@x.example"'))).body.Resources[0];
    expect((await acme('POST', '/Groups', newGroup('Foreign', [id]))).status).toBe(400);
  });

  it('loses a user whom the directory deletes', async () => {
    const { body } = await acme('POST', '/Users', newUser('leaver@x.example'));
    const { id } = await create([body.id, ids.ann]);
    await acme('DELETE', `/Users/${body.id}`);
    await acme('POST', '/Users', newUser('leaver@x.example'));
    expect(await membersOf(id)).toEqual([ids.ann]);
  });
});

describe('members of a mapped group', () => {
  it('have its roles while they are members, the group has the name, and the map exists', async () => {
    const { id, name } = await create([ids.ann]);
    expect(await map(name.toUpperCase())).toEqual({ members: 1 });
    expect(await map(name, LEAD, BETA)).toEqual({ members: 1 });
    expect(await seen()).toEqual(['ann: a member', 'ann: b lead']);
    await acme('PATCH', `/Groups/${id}`, patch({ op: 'add', path: 'members', value: [{ value: ids.bob }] }));
    expect(await seen()).toEqual(['ann: a member', 'ann: b lead', 'bob: a member', 'bob: b lead']);
    await acme('PATCH', `/Groups/${id}`, patch({ op: 'remove', path: `members[value eq "${ids.ann}"]` }));
    expect(await seen()).toEqual(['bob: a member', 'bob: b lead']);
    await unmap(name, LEAD, BETA);
    expect(await seen()).toEqual(['bob: a member']);
    await acme('PATCH', `/Groups/${id}`, patch({ op: 'replace', value: { displayName: `${name} renamed` } }));
    expect(await seen()).toEqual([]);
    await acme('PUT', `/Groups/${id}`, newGroup(name, [ids.cem]));
    expect(await seen()).toEqual(['cem: a member']);
    await acme('DELETE', `/Groups/${id}`);
    expect(await seen()).toEqual([]);
    // The map waits for a group with the name.
    expect((await world.operator.auth.listScimGroupMaps({}, await world.operate(ACME))).maps).toEqual([
      { map: { group: name.toUpperCase(), projectId: ALPHA, role: MEMBER }, members: undefined },
    ]);
    const again = await create([ids.bob], name);
    expect(await seen()).toEqual(['bob: a member']);
    await acme('DELETE', `/Groups/${again.id}`);
    await unmap(name);
    expect((await failureOf(unmap(name)))?.kind).toBe('not_found');
  });

  it('keep a role as long as one of several groups gives it', async () => {
    const [one, other] = [await create([ids.ann]), await create([ids.ann, ids.bob])];
    await map(one.name);
    await map(other.name);
    await acme('DELETE', `/Groups/${other.id}`);
    expect(await seen()).toEqual(['ann: a member']);
    await acme('DELETE', `/Groups/${one.id}`);
    expect(await seen()).toEqual([]);
  });

  it('keep what records give them, which in turn keep what groups give', async () => {
    const { id, name } = await create([ids.ann, ids.bob]);
    await map(name);
    const role = { projectId: ALPHA, role: MEMBER };
    const operator = await world.operate(ACME);
    const member = (email: string) => ({ ...role, email });
    await world.load([project(ACME, ALPHA, { members: [{ email: 'ann@x.example' }] })]);
    // An import that leaves everybody out, and an operator, take away only what records gave.
    expect(await world.operator.auth.removeMember(member('ann@x.example'), operator)).toEqual({ groups: [name] });
    await world.load([project(ACME, ALPHA, { members: [] })]);
    expect(await seen()).toEqual(['ann: a member', 'bob: a member']);
    expect(await failureOf(world.operator.auth.removeMember(member('bob@x.example'), operator))).toMatchObject({
      kind: 'failed_precondition',
      message: expect.stringContaining(`"${name}"`),
    });
    await world.operator.auth.addMember(member('ann@x.example'), operator);
    await acme('DELETE', `/Groups/${id}`);
    expect(await seen()).toEqual(['ann: a member']);
    await world.operator.auth.removeMember(member('ann@x.example'), operator);
  });

  it('of another organization have nothing of it', async () => {
    const { id, name } = await create([ids.ann]);
    await map(name, MEMBER, ALPHA, GLOBEX);
    expect(await seen()).toEqual([]);
    await unmap(name, MEMBER, ALPHA, GLOBEX);
    await acme('DELETE', `/Groups/${id}`);
  });
});

describe('a map', () => {
  it.each([
    ['an unknown project', { projectId: NOBODY }, 'not_found'],
    ['no UUID', { projectId: 'x' }, 'invalid_argument'],
    ['no name', { group: '' }, 'invalid_argument'],
    ['no role', { role: ProjectRole.PROJECT_ROLE_UNSPECIFIED }, 'invalid_argument'],
  ])('is refused for %s', async (_, bad, kind) => {
    const request = { map: { group: 'x', projectId: ALPHA, role: MEMBER, ...bad } };
    expect((await failureOf(world.operator.auth.mapScimGroup(request, await world.operate(ACME))))?.kind).toBe(kind);
  });

  it('ends with its project, and its roles with it', async () => {
    const gone = '00000000-0000-4000-8000-0000000000cc';
    await world.load([project(ACME, gone)]);
    const { id, name } = await create([ids.ann]);
    await map(name, LEAD, gone);
    await world.load([{ ...project(ACME, gone), deleted: true }]);
    expect(await seen()).toEqual([]);
    const { maps } = await world.operator.auth.listScimGroupMaps({}, await world.operate(ACME));
    expect(maps.filter((each) => each.map!.projectId === gone)).toEqual([]);
    await acme('DELETE', `/Groups/${id}`);
  });
});
