import { beforeAll, describe, expect, it } from 'vitest';
import { filtered, openDirectory, type Directory } from '@crs/testing/scim';
import { tenant } from '@crs/testing/world';
import { organization, sharedAuthWorld, user, type SharedAuthWorld } from './_fixtures.ts';

/**
 * The requests of Okta's provisioning in the order and the form in which it sends them:
 * https://developer.okta.com/docs/api/openapi/okta-scim/guides/scim-20
 */

const ACME = tenant('acme');
const CORE = ['urn:ietf:params:scim:schemas:core:2.0:User'];
const PATCH_OP = ['urn:ietf:params:scim:api:messages:2.0:PatchOp'];

let world: SharedAuthWorld;
let okta: Directory;
beforeAll(async () => {
  world = await sharedAuthWorld([organization(ACME), ...[1, 2, 3].map((n) => user(ACME, `known-${n}@acme.example`))]);
  okta = await openDirectory(world.operator, world.stack.addresses.tools, ACME);
});

it('lists users page by page, for the test of the connection and for imports', async () => {
  const first = (await okta('GET', '/Users?startIndex=1&count=2')).body;
  expect(first).toMatchObject({ totalResults: 3, startIndex: 1, itemsPerPage: 2 });
  const second = (await okta('GET', '/Users?startIndex=3&count=2')).body;
  expect(second).toMatchObject({ totalResults: 3, startIndex: 3, itemsPerPage: 1 });
  const names = [...first.Resources, ...second.Resources].map(({ userName }) => userName);
  expect(new Set(names)).toEqual(new Set([1, 2, 3].map((n) => `known-${n}@acme.example`)));
  expect((await okta('GET', '/Users?startIndex=4&count=2')).body).toMatchObject({ totalResults: 3, Resources: [] });
});

describe('a user', () => {
  const userName = 'ann.lee@acme.example';
  const profile = {
    schemas: CORE,
    userName,
    name: { givenName: 'Ann', familyName: 'Lee' },
    emails: [{ primary: true, value: userName, type: 'work' }],
    displayName: 'Ann Lee',
    locale: 'en-US',
    externalId: '00ujl29u0le5T6Aj10h7',
    groups: [],
    password: '1mz050nq',
    active: true,
  };
  let id: string;

  it('is looked for, created, and read', async () => {
    const path = `${filtered('Users', `userName eq "${userName}"`)}&startIndex=1&count=100`;
    expect((await okta('GET', path)).body).toMatchObject({ totalResults: 0, Resources: [] });
    const created = await okta('POST', '/Users', profile, { 'content-type': 'application/scim+json; charset=utf-8' });
    expect(created.status).toBe(201);
    expect(created.body).not.toHaveProperty('password');
    ({ id } = created.body);
    expect((await okta('GET', `/Users/${id}`)).body).toMatchObject({
      userName,
      name: { givenName: 'Ann', familyName: 'Lee' },
      emails: [{ primary: true, value: userName, type: 'work' }],
      active: true,
    });
  });

  it('is changed as a whole', async () => {
    const changed = { ...profile, id, name: { givenName: 'Ann', familyName: 'Ray' }, displayName: 'Ann Ray', meta: {} };
    expect(await okta('PUT', `/Users/${id}`, changed)).toMatchObject({
      status: 200,
      body: { id, displayName: 'Ann Ray', name: { familyName: 'Ray' }, externalId: profile.externalId, active: true },
    });
  });

  it.each([false, true])('is active or not by a PATCH without a path, with %j', async (active) => {
    const body = { schemas: PATCH_OP, Operations: [{ op: 'replace', value: { active } }] };
    expect(await okta('PATCH', `/Users/${id}`, body)).toMatchObject({ status: 200, body: { id, active } });
  });

  it('is deactivated and activated as a whole, too', async () => {
    for (const active of [false, true]) {
      expect((await okta('PUT', `/Users/${id}`, { ...profile, active })).body.active).toBe(active);
    }
  });

  it('is refused as a duplicate', async () => {
    const { status, body } = await okta('POST', '/Users', profile);
    expect([status, body.scimType]).toEqual([409, 'uniqueness']);
  });
});

describe('a pushed group', () => {
  let id: string;
  let members: { value: string; display: string }[];
  const group = { schemas: ['urn:ietf:params:scim:schemas:core:2.0:Group'], displayName: 'Test SCIMv2', members: [] };
  const membersNow = async () => ((await okta('GET', `/Groups/${id}`)).body.members as { value: string }[]).length;

  beforeAll(async () => {
    const { Resources } = (await okta('GET', filtered('Users', 'userName eq "known-1@acme.example"'))).body;
    const others = (await okta('GET', filtered('Users', 'userName eq "known-2@acme.example"'))).body;
    members = [...Resources, ...others.Resources].map((each) => ({ value: each.id, display: each.userName }));
  });

  it('is created, and gets its members', async () => {
    const created = await okta('POST', '/Groups', group);
    expect(created).toMatchObject({ status: 201, body: { displayName: group.displayName } });
    ({ id } = created.body);
    const Operations = [{ op: 'add', path: 'members', value: members }];
    expect((await okta('PATCH', `/Groups/${id}`, { schemas: PATCH_OP, Operations })).status).toBe(204);
    expect(await membersNow()).toBe(2);
  });

  it('gets all its members at once, or another name', async () => {
    const replace = [{ op: 'replace', path: 'members', value: members.slice(0, 1) }];
    await okta('PATCH', `/Groups/${id}`, { schemas: PATCH_OP, Operations: replace });
    expect(await membersNow()).toBe(1);
    const rename = [{ op: 'replace', value: { id, displayName: 'Test SCIMv3' } }];
    await okta('PATCH', `/Groups/${id}`, { schemas: PATCH_OP, Operations: rename });
    const listed = (await okta('GET', '/Groups?startIndex=1&count=100')).body;
    expect(listed.Resources).toEqual([
      expect.objectContaining({
        id,
        displayName: 'Test SCIMv3',
        members: [expect.objectContaining({ value: members[0]!.value })],
      }),
    ]);
  });

  it('loses a member, is written as a whole, and is deleted', async () => {
    const remove = [{ op: 'remove', path: `members[value eq "${members[0]!.value}"]` }];
    await okta('PATCH', `/Groups/${id}`, { schemas: PATCH_OP, Operations: remove });
    expect(await membersNow()).toBe(0);
    expect((await okta('PUT', `/Groups/${id}`, { ...group, id, members })).body.members).toHaveLength(2);
    expect((await okta('DELETE', `/Groups/${id}`)).status).toBe(204);
  });
});
