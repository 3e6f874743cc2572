import { beforeAll, describe, expect, it } from 'vitest';
import { filtered, openDirectory, type Directory } from '@crs/testing/scim';
import { tenant } from '@crs/testing/world';
import { organization, sharedAuthWorld, user, type SharedAuthWorld } from './_fixtures.ts';

/**
 * The requests of Microsoft Entra's provisioning service in the order and the form in which it sends them:
 * https://learn.microsoft.com/entra/identity/app-provisioning/use-scim-to-provision-users-and-groups
 */

const ACME = tenant('acme');
const PATCH_OP = ['urn:ietf:params:scim:api:messages:2.0:PatchOp'];
const CORE = 'urn:ietf:params:scim:schemas:core:2.0:User';
const ENTERPRISE = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';
const EMPTY = { totalResults: 0, startIndex: 1, itemsPerPage: 0, Resources: [] };

let world: SharedAuthWorld;
let entra: Directory;
beforeAll(async () => {
  world = await sharedAuthWorld([organization(ACME), user(ACME, 'known@acme.example')]);
  entra = await openDirectory(world.operator, world.stack.addresses.tools, ACME);
});

it('accepts the test of a connection, which looks for a user whom nobody is', async () => {
  const response = await entra('GET', filtered('Users', 'userName eq "1f0c9e6a-4f2c-4d0c-9d53-d37a4f9ee7b1"'));
  expect(response).toMatchObject({ status: 200, body: EMPTY });
});

describe('a user', () => {
  const email = 'ann.lee@acme.example';
  let id: string;

  it('is looked for, and then created', async () => {
    expect((await entra('GET', filtered('Users', `userName eq "${email}"`))).body).toMatchObject(EMPTY);
    const response = await entra('POST', '/Users', {
      schemas: [CORE, ENTERPRISE],
      externalId: 'ann.lee',
      userName: email,
      active: true,
      displayName: 'Ann Lee',
      emails: [{ primary: true, type: 'work', value: email }],
      meta: { resourceType: 'User' },
      name: { formatted: 'Ann Lee', familyName: 'Lee', givenName: 'Ann' },
      [ENTERPRISE]: { department: 'Research', manager: { value: 'f00' } },
      roles: [],
    });
    expect(response).toMatchObject({ status: 201, body: { userName: email, active: true, externalId: 'ann.lee' } });
    ({ id } = response.body);
    const found = (await entra('GET', filtered('Users', `externalId eq "ann.lee"`))).body;
    expect(found).toMatchObject({ totalResults: 1, Resources: [{ id }] });
  });

  it('that is there already is found and linked', async () => {
    const { body } = await entra('GET', filtered('Users', 'userName eq "Known@acme.example"'));
    const known = body.Resources[0].id;
    const link = { op: 'Add', path: 'externalId', value: 'known' };
    expect((await entra('PATCH', `/Users/${known}`, { schemas: PATCH_OP, Operations: [link] })).body).toMatchObject({
      id: known,
      externalId: 'known',
    });
  });

  it('is changed attribute by attribute', async () => {
    const response = await entra('PATCH', `/Users/${id}`, {
      schemas: PATCH_OP,
      Operations: [
        { op: 'Replace', path: 'emails[type eq "work"].value', value: 'ann.ray@acme.example' },
        { op: 'Replace', path: 'name.familyName', value: 'Ray' },
        { op: 'Replace', path: 'displayName', value: 'Ann Ray' },
        { op: 'Add', path: `${ENTERPRISE}:department`, value: 'Sales' },
        { op: 'Replace', path: 'userName', value: 'ann.ray@acme.example' },
      ],
    });
    expect(response).toMatchObject({
      status: 200,
      body: { id, userName: 'ann.ray@acme.example', displayName: 'Ann Ray', name: { familyName: 'Ray', givenName: 'Ann' } },
    });
  });

  it('is changed without paths, by names with dots', async () => {
    const value = { displayName: 'Annie Ray', 'name.givenName': 'Annie', [`${ENTERPRISE}:employeeNumber`]: '7' };
    const body = { schemas: PATCH_OP, Operations: [{ op: 'Replace', value }] };
    expect((await entra('PATCH', `/Users/${id}`, body)).body).toMatchObject({
      displayName: 'Annie Ray',
      name: { familyName: 'Ray', givenName: 'Annie' },
    });
  });

  it.each([
    ['False', false],
    ['True', true],
    [false, false],
    [true, true],
  ])('is active or not by %j', async (value, active) => {
    const body = { schemas: PATCH_OP, Operations: [{ op: 'Replace', path: 'active', value }] };
    expect((await entra('PATCH', `/Users/${id}`, body)).body.active).toBe(active);
  });

  it('is deleted for good, after it was deactivated', async () => {
    const body = { schemas: PATCH_OP, Operations: [{ op: 'Replace', path: 'active', value: 'False' }] };
    await entra('PATCH', `/Users/${id}`, body);
    expect((await entra('DELETE', `/Users/${id}`)).status).toBe(204);
    expect(await entra('GET', `/Users/${id}`)).toMatchObject({ status: 404 });
  });
});

describe('a group', () => {
  let id: string;
  let members: string[];
  const membersNow = async () =>
    ((await entra('GET', `/Groups/${id}`)).body.members as { value: string }[]).map(({ value }) => value).toSorted();

  beforeAll(async () => {
    const users = [1, 2, 3].map((n) => ({ schemas: [CORE], userName: `member-${n}@acme.example`, active: true }));
    members = [];
    for (const each of users) members.push((await entra('POST', '/Users', each)).body.id);
    members.sort();
  });

  it('is looked for without its members, and then created without any', async () => {
    const path = `${filtered('Groups', 'displayName eq "Research"')}&excludedAttributes=members`;
    expect((await entra('GET', path)).body).toMatchObject(EMPTY);
    const response = await entra('POST', '/Groups', {
      schemas: [
        'urn:ietf:params:scim:schemas:core:2.0:Group',
        'http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group',
      ],
      externalId: '8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159',
      displayName: 'Research',
      meta: { resourceType: 'Group' },
    });
    expect(response).toMatchObject({ status: 201, body: { displayName: 'Research', members: [] } });
    ({ id } = response.body);
    expect((await entra('GET', `/Groups/${id}?excludedAttributes=members`)).body).not.toHaveProperty('members');
  });

  it('gets members, and is asked whether it has one', async () => {
    const Operations = members.map((value) => ({ op: 'Add', path: 'members', value: [{ $ref: null, value }] }));
    expect(await entra('PATCH', `/Groups/${id}`, { schemas: PATCH_OP, Operations })).toMatchObject({ status: 204 });
    expect(await membersNow()).toEqual(members);
    const path = `${filtered('Groups', `id eq "${id}" and members eq "${members[0]!}"`)}&attributes=id`;
    const { body } = await entra('GET', path);
    expect(body.Resources.map((group: object) => Object.keys(group))).toEqual([['schemas', 'id', 'meta']]);
  });

  it('loses members, in both forms', async () => {
    const [one, two, three] = members as [string, string, string];
    const listed = { op: 'Remove', path: 'members', value: [{ $ref: null, value: one }] };
    await entra('PATCH', `/Groups/${id}`, { schemas: PATCH_OP, Operations: [listed] });
    expect(await membersNow()).toEqual([two, three]);
    const byFilter = { op: 'Remove', path: `members[value eq "${two}"]` };
    await entra('PATCH', `/Groups/${id}`, { schemas: PATCH_OP, Operations: [byFilter] });
    expect(await membersNow()).toEqual([three]);
  });

  it('gets another name, and is deleted', async () => {
    const Operations = [{ op: 'Replace', path: 'displayName', value: 'Research EU' }];
    expect((await entra('PATCH', `/Groups/${id}`, { schemas: PATCH_OP, Operations })).status).toBe(204);
    expect((await entra('GET', filtered('Groups', 'displayName eq "research eu"'))).body.totalResults).toBe(1);
    expect((await entra('DELETE', `/Groups/${id}`)).status).toBe(204);
    expect((await entra('GET', `/Groups/${id}`)).status).toBe(404);
  });
});
