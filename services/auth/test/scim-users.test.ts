import { beforeAll, describe, expect, it } from 'vitest';
import { filtered, newUser, openDirectory, patch, USER, type Directory } from '@crs/testing/scim';
import { tenant } from '@crs/testing/world';
import { organization, sharedAuthWorld, user, type SharedAuthWorld } from './_fixtures.ts';

const TENANTS = [tenant('acme'), tenant('globex')] as const;
const [ACME, GLOBEX] = TENANTS;
const NOBODY = '00000000-0000-4000-8000-0000000000ff';

let world: SharedAuthWorld;
let acme: Directory;
let globex: Directory;

beforeAll(async () => {
  world = await sharedAuthWorld(TENANTS.flatMap((id) => [organization(id), user(id, 'imported@x.example')]));
  const open = (id: string) => openDirectory(world.operator, world.stack.addresses.tools, id);
  [acme, globex] = await Promise.all([open(ACME), open(GLOBEX)]);
});

const create = async (userName: string, more: object = {}, directory = acme) => {
  const { status, body } = await directory('POST', '/Users', newUser(userName, more));
  expect(status).toBe(201);
  return body as { id: string; userName: string; active: boolean };
};
const stored = async (email: string, tenant: string = ACME) =>
  (await world.operator.auth.listUsers({}, await world.operate(tenant))).users.find((each) => each.email === email);
const setDisabled = async (email: string, disabled: boolean) =>
  world.operator.auth.setUserDisabled({ email, disabled }, await world.operate(ACME));

describe('a user of the directory', () => {
  it('is created with an id, and has the name that the directory shows', async () => {
    const response = await acme('POST', '/Users', {
      schemas: [USER],
      userName: 'Ann@X.example',
      externalId: 'ext-1',
      name: { givenName: 'Ann', familyName: 'Lee' },
      password: 'a password that is never kept',
      emails: [{ value: 'other@x.example', primary: true }],
      title: 'Analyst',
    });
    expect(response.status).toBe(201);
    const { id } = response.body;
    const location = `http://tools.example/scim/v2/Users/${id}`;
    expect(response.headers['location']).toBe(location);
    expect(response.body).toEqual({
      schemas: [USER],
      id,
      externalId: 'ext-1',
      userName: 'Ann@X.example',
      displayName: 'Ann Lee',
      name: { givenName: 'Ann', familyName: 'Lee' },
      emails: [{ value: 'Ann@X.example', type: 'work', primary: true }],
      active: true,
      meta: { resourceType: 'User', created: expect.any(String), lastModified: expect.any(String), location },
    });
    expect((await acme('GET', `/Users/${id}`)).body).toEqual(response.body);
    expect(await stored('Ann@X.example')).toMatchObject({ userId: id, name: 'Ann Lee', hasPassword: false, externalId: 'ext-1' });
  });

  it('may be one whom an import or an operator created', async () => {
    const { body } = await acme('GET', filtered('Users', 'userName eq "IMPORTED@x.example"'));
    expect(body).toMatchObject({ totalResults: 1, itemsPerPage: 1, startIndex: 1 });
    expect(body.Resources[0]).toMatchObject({ userName: 'imported@x.example', active: true });
  });

  it.each(['POST', 'PUT', 'PATCH'])('is refused by %s if another user has the e-mail, whatever the case', async (method) => {
    await create(`taken-${method}@x.example`);
    const { id } = await create(`other-${method}@x.example`);
    const userName = `TAKEN-${method}@x.example`;
    const body = method === 'PATCH' ? patch({ op: 'replace', path: 'userName', value: userName }) : newUser(userName);
    const response = await acme(method, method === 'POST' ? '/Users' : `/Users/${id}`, body);
    expect(response).toMatchObject({ status: 409, body: { scimType: 'uniqueness' } });
    expect((await acme('GET', `/Users/${id}`)).body.userName).toBe(`other-${method}@x.example`);
  });

  it.each(['', 'ann', 'a b@x.example', 'ann@x.example\u0000', 7, null, undefined])(
    'needs an e-mail as userName, not %j',
    async (userName) => {
      const response = await acme('POST', '/Users', { ...newUser('x@x.example'), userName });
      expect(response).toMatchObject({ status: 400, body: { scimType: 'invalidValue' } });
    },
  );

  it('belongs to one organization: another can neither read, change nor delete it, nor learn that it exists', async () => {
    const { id } = await create('ours@x.example');
    const unknown = await globex('GET', `/Users/${NOBODY}`);
    for (const [method, body] of [
      ['GET', undefined],
      ['PUT', newUser('theirs@x.example')],
      ['PATCH', patch({ op: 'replace', path: 'active', value: false })],
      ['DELETE', undefined],
    ] as const) {
      expect((await globex(method, `/Users/${id}`, body)).body).toEqual(unknown.body);
    }
    expect((await globex('GET', filtered('Users', `id eq "${id}"`))).body.totalResults).toBe(0);
    expect((await create('ours@x.example', {}, globex)).id).not.toBe(id);
    expect(await stored('ours@x.example')).toMatchObject({ userId: id, disabled: false });
  });

  it('keeps id, tokens and roles when the e-mail and the name change, and imports then find it by the new e-mail', async () => {
    const { id } = await create('maiden@x.example');
    const [operator, token] = [await world.operate(ACME), { email: 'maiden@x.example', scopes: [], expiresInSeconds: 0 }];
    const { accessToken } = await world.operator.auth.createToken(token, operator);
    const change = patch({ op: 'replace', value: { userName: 'married@x.example', displayName: 'Ann Married' } });
    expect((await acme('PATCH', `/Users/${id}`, change)).body).toMatchObject({ id, userName: 'married@x.example' });
    await world.load([user(ACME, 'married@x.example', { name: 'Imported' })]);
    expect(await stored('married@x.example')).toMatchObject({ userId: id, name: 'Imported' });
    expect(await stored('maiden@x.example')).toBeUndefined();
    expect(await world.auth.authenticateToken({ accessToken, audiences: ['calls'] })).toMatchObject({ userId: id });
  });

  it('is not found by ids that no user has', async () => {
    for (const id of [NOBODY, 'x', '..x', `${NOBODY}0`]) {
      expect((await acme('GET', `/Users/${id}`)).status).toBe(404);
      expect((await acme('DELETE', `/Users/${id}`)).status).toBe(404);
    }
  });
});

describe('a user whom the directory deactivates', () => {
  it.each([
    ['false', patch({ op: 'Replace', path: 'active', value: 'False' })],
    ['a PUT', newUser('off@x.example', { active: false })],
  ])('by %s is disabled, with all sessions and tokens', async (_, body) => {
    const { id } = await create(`off-${Math.random()}@x.example`);
    const { email } = (await world.operator.auth.listUsers({}, await world.operate(ACME))).users.find((u) => u.userId === id)!;
    const token = { email, scopes: [], expiresInSeconds: 0 };
    const { accessToken } = await world.operator.auth.createToken(token, await world.operate(ACME));
    const method = 'Operations' in body ? 'PATCH' : 'PUT';
    const sent = method === 'PUT' ? { ...body, userName: email } : body;
    expect((await acme(method, `/Users/${id}`, sent)).body.active).toBe(false);
    expect(await stored(email)).toMatchObject({ disabled: true, disabledBy: 'directory' });
    await expect(world.auth.authenticateToken({ accessToken, audiences: ['calls'] })).rejects.toThrow('revoked');
    expect((await acme('PATCH', `/Users/${id}`, patch({ op: 'replace', path: 'active', value: true }))).body.active).toBe(true);
    expect(await stored(email)).toMatchObject({ disabled: false, disabledBy: '' });
    // The tokens ended for good.
    await expect(world.auth.authenticateToken({ accessToken, audiences: ['calls'] })).rejects.toThrow('revoked');
  });

  it('stays disabled if an operator disabled them, before or after the directory', async () => {
    const active = (value: boolean) => patch({ op: 'replace', path: 'active', value });
    for (const email of ['first@x.example', 'then@x.example']) {
      const { id } = await create(email);
      if (email.startsWith('then')) await acme('PATCH', `/Users/${id}`, active(false));
      await setDisabled(email, true);
      if (email.startsWith('first')) await acme('PATCH', `/Users/${id}`, active(false));
      for (const [method, body] of [
        ['PATCH', active(true)],
        ['PUT', newUser(email, { active: true })],
      ] as const) {
        expect((await acme(method, `/Users/${id}`, body)).body.active).toBe(false);
      }
      await acme('DELETE', `/Users/${id}`);
      expect(await create(email)).toMatchObject({ id, active: false });
      expect(await stored(email)).toMatchObject({ disabled: true, disabledBy: 'operator' });
      await setDisabled(email, false);
      expect((await acme('GET', `/Users/${id}`)).body.active).toBe(true);
    }
  });
});

describe('a user whom the directory deletes', () => {
  it('is disabled and no longer found, and comes back with the same id when created again', async () => {
    const email = 'rehired@x.example';
    const { id } = await create(email, { externalId: 'one' });
    expect(await acme('DELETE', `/Users/${id}`)).toMatchObject({ status: 204, body: undefined });
    for (const method of ['GET', 'DELETE']) expect((await acme(method, `/Users/${id}`)).status).toBe(404);
    expect((await acme('GET', filtered('Users', `userName eq "${email}"`))).body.totalResults).toBe(0);
    expect(await stored(email)).toMatchObject({ userId: id, disabled: true, disabledBy: 'directory' });
    const again = await acme('POST', '/Users', newUser('Rehired@x.example', { externalId: 'two' }));
    expect(again).toMatchObject({ status: 201, body: { id, externalId: 'two', active: true, userName: 'Rehired@x.example' } });
    expect(await stored('Rehired@x.example')).toMatchObject({ userId: id, disabled: false });
  });

  it('is shown again when an operator enables them', async () => {
    const { id } = await create('back@x.example');
    await acme('DELETE', `/Users/${id}`);
    await setDisabled('back@x.example', false);
    expect((await acme('GET', `/Users/${id}`)).body).toMatchObject({ active: true });
  });
});

it('writes an audit entry for each change, with the token as actor, and none for a request that changes nothing', async () => {
  const since = (await world.rows<{ id: string }>('select coalesce(max(audit_id), 0) as id from auth.audit'))[0]!.id;
  const { id } = await create('audited@x.example');
  const rename = patch({ op: 'replace', path: 'displayName', value: 'New' });
  for (const _ of [1, 2]) await acme('PATCH', `/Users/${id}`, rename);
  await acme('DELETE', `/Users/${id}`);
  const entries = await world.rows(
    `select actor like 'scim\\_%' as "isToken", action, target, changes from auth.audit
      where organization = $1 and audit_id > $2 order by audit_id`,
    [ACME, since],
  );
  const changes = { name: { from: 'audited@x.example', to: 'New' } };
  expect(entries).toEqual([
    { isToken: true, action: 'user.create', target: 'audited@x.example', changes: null },
    { isToken: true, action: 'user.update', target: 'audited@x.example', changes },
    { isToken: true, action: 'user.disable', target: 'audited@x.example', changes: null },
  ]);
});
