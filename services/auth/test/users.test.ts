import { beforeAll, describe, expect, it } from 'vitest';
import { tenant } from '@crs/testing/world';
import { verifyPassword } from '../src/domain/password.ts';
import { failureOf, organization, sharedAuthWorld, type SharedAuthWorld } from './_fixtures.ts';

const TENANTS = [tenant('acme'), tenant('globex')] as const;
const [ACME, GLOBEX] = TENANTS;
const NOWHERE = tenant('nowhere');

let world: SharedAuthWorld;
beforeAll(async () => {
  world = await sharedAuthWorld(TENANTS.map((id) => organization(id)));
});

const create = async (email: string, { tenant = ACME, name = 'Somebody', password = '' } = {}) =>
  (await world.operator.auth.createUser({ email, name, password }, await world.operate(tenant))).user!;
const list = async (tenant = ACME) => (await world.operator.auth.listUsers({}, await world.operate(tenant))).users;
const setDisabled = async (email: string, disabled: boolean, tenant = ACME) =>
  (await world.operator.auth.setUserDisabled({ email, disabled }, await world.operate(tenant))).user!;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

describe('a new user', () => {
  it('has the given fields', async () => {
    const user = await create('New.User@Example.com', { name: 'Néw' });
    expect(user).toEqual({
      userId: expect.stringMatching(UUID),
      email: 'New.User@Example.com',
      name: 'Néw',
      disabled: false,
      disabledBy: '',
      externalId: '',
      hasPassword: false,
      createdAt: expect.any(Date),
    });
    expect(await list()).toContainEqual(user);
  });

  it.each([
    ['another case', 'ZOË@example.com', 'zoë@EXAMPLE.com'],
    ['a decomposed character', 'café@example.com', 'cafe\u0301@example.com'],
    ['both', 'über@example.com', 'U\u0308BER@example.com'],
  ])('is refused if the e-mail is taken in %s', async (_, taken, email) => {
    await create(taken);
    expect(await failureOf(create(email))).toMatchObject({ kind: 'already_exists', field: 'email' });
    expect((await list()).filter((user) => user.email === taken || user.email === email)).toHaveLength(1);
  });

  it('may have an e-mail of another organization, and is a separate user', async () => {
    const [one, other] = await Promise.all(TENANTS.map((tenant) => create('both@example.com', { tenant, name: tenant })));
    expect(one!.userId).not.toBe(other!.userId);
    for (const tenant of TENANTS) {
      expect((await list(tenant)).filter(({ email }) => email === 'both@example.com').map(({ name }) => name)).toEqual([tenant]);
    }
  });

  it('is created once, even if many calls come at the same time', async () => {
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => failureOf(create('race@example.com'))));
    expect(outcomes.filter((outcome) => outcome === undefined)).toHaveLength(1);
  });

  it.each(['a@b', `${'a'.repeat(252)}@b`, `${'😀'.repeat(252)}@b`, 'a+b@c', '"a"@b', 'ä@ö'])(
    'may have the e-mail %s',
    async (email) => {
      expect((await create(email)).email).toBe(email);
    },
  );

  it.each(['', 'a', '@b', 'a@', 'ab', 'a@b@c', 'a b@c', 'a@b\n', `${'a'.repeat(253)}@b`, `${'😀'.repeat(253)}@b`, 'a\u0000@b'])(
    'may not have the e-mail %j',
    async (email) => {
      const before = await list();
      expect(await failureOf(create(email))).toMatchObject({ kind: 'invalid_argument', field: 'email' });
      expect(await list()).toEqual(before);
    },
  );

  it('has a name of 1 to 200 characters', async () => {
    expect((await create('n1@example.com', { name: 'x' })).name).toBe('x');
    expect((await create('n2@example.com', { name: '😀'.repeat(200) })).name).toBe('😀'.repeat(200));
    for (const name of ['', '😀'.repeat(201), '\u0000']) {
      expect(await failureOf(create('n3@example.com', { name }))).toMatchObject({ kind: 'invalid_argument', field: 'name' });
    }
  });

  it('has a password of 12 to 256 characters or none, stored as a hash', async () => {
    const shortest = 'x8f3kQz2pLw4';
    for (const [i, password] of [shortest, `${shortest}${'😀'.repeat(244)}`].entries()) {
      const { hasPassword, userId } = await create(`p${i}@example.com`, { password });
      expect(hasPassword).toBe(true);
      const [row] = await world.rows<{ hash: string; row: string }>(
        'select password_hash as hash, users::text as row from auth.users where user_id = $1',
        [userId],
      );
      expect(row!.row).not.toContain(password);
      expect(await verifyPassword(password, row!.hash)).toBe(true);
    }
    const guessable = ['password12345', 'somebody acme'];
    for (const password of [shortest.slice(1), '😀'.repeat(257), `${shortest}\u0000`, ...guessable]) {
      expect(await failureOf(create('p3@example.com', { password }))).toMatchObject({
        kind: 'invalid_argument',
        field: 'password',
      });
    }
  });

  it('needs an existing organization', async () => {
    expect((await failureOf(create('a@example.com', { tenant: NOWHERE })))?.kind).toBe('not_found');
    expect((await failureOf(list(NOWHERE)))?.kind).toBe('not_found');
  });
});

describe('a disabled user', () => {
  beforeAll(() =>
    Promise.all(TENANTS.map((tenant) => create('On.Off@example.com', { tenant, password: 'plum tart on a late tram' }))),
  );

  it('is disabled by an e-mail in any case, in that organization only', async () => {
    expect(await setDisabled('ON.off@EXAMPLE.com', true)).toMatchObject({
      email: 'On.Off@example.com',
      disabled: true,
      hasPassword: true,
    });
    const stateIn = async (tenant: string) => (await list(tenant)).find(({ email }) => email === 'On.Off@example.com')!.disabled;
    expect([await stateIn(ACME), await stateIn(GLOBEX)]).toEqual([true, false]);
  });

  it('keeps the time of the first disabling when disabled again', async () => {
    const since = () =>
      world.rows(`select disabled_at from auth.users where organization = $1 and email = 'On.Off@example.com'`, [ACME]);
    await setDisabled('on.off@example.com', true);
    const before = await since();
    await setDisabled('on.off@example.com', true);
    expect(await since()).toEqual(before);
  });

  it('is the same user when enabled again, and enabling again changes nothing', async () => {
    const before = await setDisabled('on.off@example.com', true);
    expect(await setDisabled('on.off@example.com', false)).toEqual({ ...before, disabled: false, disabledBy: '' });
    expect(await setDisabled('on.off@example.com', false)).toEqual({ ...before, disabled: false, disabledBy: '' });
  });

  it('keeps its e-mail reserved', async () => {
    await setDisabled('on.off@example.com', true);
    expect((await failureOf(create('on.off@example.com')))?.kind).toBe('already_exists');
  });

  it('must be an existing user', async () => {
    expect((await failureOf(setDisabled('nobody@example.com', true)))?.kind).toBe('not_found');
    for (const email of ['', `${'a'.repeat(253)}@b`, 'on.off@example.com\u0000']) {
      expect(await failureOf(setDisabled(email, true))).toMatchObject({ kind: 'invalid_argument', field: 'email' });
    }
  });

  it('must belong to the organization', async () => {
    await create('globex.only@example.com', { tenant: GLOBEX });
    expect((await failureOf(setDisabled('globex.only@example.com', true, ACME)))?.kind).toBe('not_found');
    expect((await failureOf(setDisabled('globex.only@example.com', true, NOWHERE)))?.kind).toBe('not_found');
  });
});

it('lists users by case-folded e-mail, in code-point order', async () => {
  for (const email of ['B@list', 'a@list', 'C@list', '_@list', 'é@list', '😀@list']) await create(email, { tenant: GLOBEX });
  const emails = (await list(GLOBEX)).map(({ email }) => email).filter((email) => email.endsWith('@list'));
  expect(emails).toEqual(['_@list', 'a@list', 'B@list', 'C@list', 'é@list', '😀@list']);
});

describe('a renamed user', () => {
  it('gets a free e-mail, even if many users are to get it at the same time', async () => {
    const operator = await world.operate(ACME);
    const emails = Array.from({ length: 40 }, (_, i) => `before-${i}@example.com`);
    for (const email of emails) await create(email);
    const rename = (email: string) => world.operator.auth.updateUser({ email, newEmail: 'after@example.com' }, operator);
    const outcomes = await Promise.all(emails.map((email) => failureOf(rename(email))));
    expect(outcomes.filter((outcome) => outcome === undefined)).toHaveLength(1);
    for (const outcome of outcomes.filter(Boolean)) expect(outcome).toMatchObject({ kind: 'already_exists', field: 'new_email' });
  });
});
