import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { tenant } from '@crs/testing/world';
import { verifyPassword } from '../src/domain/password.ts';
import { ANN, organization, sharedAuthWorld, user, type SharedAuthWorld } from './_fixtures.ts';

const TENANTS = [tenant('acme'), tenant('globex')] as const;
const [ACME, GLOBEX] = TENANTS;

let world: SharedAuthWorld;
beforeAll(async () => {
  world = await sharedAuthWorld(TENANTS.map((id) => organization(id)));
});

const stored = async (email: string, tenant = ACME) =>
  (await world.operator.auth.listUsers({}, await world.operate(tenant))).users.find((each) => each.email === email);
const hashOf = async (email: string, tenant = ACME) => {
  const [row] = await world.rows<{ hash: string }>(
    'select password_hash as hash from auth.users where organization = $1 and email = $2',
    [tenant, email],
  );
  return row!.hash;
};
async function outcomeOf(record: object): Promise<string> {
  const { accepted, unchanged, refused } = await world.tryLoad([record]);
  return refused[0] ?? (accepted === 1 ? 'accepted' : unchanged === 1 ? 'unchanged' : 'neither');
}
const FIRST = 'plum tart on a late tram';
const SECOND = 'quiet otters mend clocks';

describe('an imported user', () => {
  it('has the given fields, and is unchanged the second time', async () => {
    const ann = user(ACME, ANN, { name: 'Ann', password: FIRST });
    expect(await outcomeOf(ann)).toBe('accepted');
    const first = await stored(ANN);
    expect(first).toMatchObject({ email: ANN, name: 'Ann', hasPassword: true, disabled: false });
    expect(await outcomeOf(ann)).toBe('unchanged');
    expect(await stored(ANN)).toEqual(first);
  });

  it('needs only an e-mail', async () => {
    expect(await outcomeOf({ type: 'user', organization: ACME, email: 'bare@example.com' })).toBe('accepted');
    expect(await stored('bare@example.com')).toMatchObject({ name: '', hasPassword: false });
  });

  it('keeps fields that are absent or null', async () => {
    const email = 'keeps@example.com';
    const record = { type: 'user', organization: ACME, email };
    await world.load([{ ...record, name: 'Keeps', password: FIRST }]);
    const before = await stored(email);
    expect(await outcomeOf(record)).toBe('unchanged');
    expect(await outcomeOf({ ...record, name: null, password: null })).toBe('unchanged');
    expect(await stored(email)).toEqual(before);
    expect(await verifyPassword(FIRST, await hashOf(email))).toBe(true);
  });

  it('is found by an e-mail in any case and Unicode form, and gets the new spelling', async () => {
    await world.load([user(ACME, 'Café@example.com')]);
    const before = await stored('Café@example.com');
    expect(await outcomeOf(user(ACME, 'CAFE\u0301@EXAMPLE.com', { name: before!.name }))).toBe('accepted');
    expect(await stored('CAFE\u0301@EXAMPLE.com')).toEqual({ ...before, email: 'CAFE\u0301@EXAMPLE.com' });
    expect(await stored('Café@example.com')).toBeUndefined();
  });

  it('is disabled by "disabled": true, which revokes tokens for good and is audited; no import enables the user again', async () => {
    const record = { type: 'user', organization: ACME, email: 'leaver@example.com' };
    await world.load([record]);
    const acme = await world.operate(ACME);
    const { accessToken } = await world.operator.auth.createToken(
      { email: record.email, scopes: [], expiresInSeconds: 3_600 },
      acme,
    );
    expect(await outcomeOf({ ...record, disabled: false })).toBe('unchanged');
    expect((await stored(record.email))!.disabled).toBe(false);
    expect(await outcomeOf({ ...record, disabled: true })).toBe('accepted');
    for (const disabled of [true, false, null, undefined]) expect(await outcomeOf({ ...record, disabled })).toBe('unchanged');
    expect((await stored(record.email))!.disabled).toBe(true);
    const { entries } = await world.operator.auth.listAudit({ limit: 20 }, acme);
    expect(entries.filter(({ action }) => action === 'user.disable').map(({ target }) => target)).toEqual([record.email]);
    // The token stays revoked when an operator enables the user again.
    await world.operator.auth.setUserDisabled({ email: record.email, disabled: false }, acme);
    await expect(world.auth.authenticateToken({ accessToken, audiences: ['calls'] }, {})).rejects.toMatchObject({
      kind: 'unauthenticated',
    });
  });

  it('can be created disabled', async () => {
    await world.load([{ type: 'user', organization: ACME, email: 'gone@example.com', disabled: true }]);
    expect((await stored('gone@example.com'))!.disabled).toBe(true);
  });

  it('is a separate user in each organization', async () => {
    await world.load(
      TENANTS.map((tenant) => user(tenant, 'both@example.com', { name: tenant, password: `${tenant} otters mend clocks` })),
    );
    const ids = new Set<string>();
    for (const tenant of TENANTS) {
      const found = await stored('both@example.com', tenant);
      expect(found!.name).toBe(tenant);
      ids.add(found!.userId);
      expect(await verifyPassword(`${tenant} otters mend clocks`, await hashOf('both@example.com', tenant))).toBe(true);
    }
    expect(ids.size).toBe(2);
  });

  it('has the fields of the later record in a file', async () => {
    const lines = [user(ACME, 'later@example.com', { name: 'First' }), user(ACME, 'LATER@example.com', { name: 'Second' })];
    expect(await world.tryLoad(lines)).toEqual({ accepted: 2, unchanged: 0, refused: [] });
    expect(await stored('LATER@example.com')).toMatchObject({ name: 'Second' });
  });

  it('stays disabled if imported again', async () => {
    await world.load([user(ACME, 'off@example.com')]);
    await world.operator.auth.setUserDisabled({ email: 'off@example.com', disabled: true }, await world.operate(ACME));
    expect(await outcomeOf(user(ACME, 'off@example.com', { name: 'Changed', password: FIRST }))).toBe('accepted');
    expect(await stored('off@example.com')).toMatchObject({ name: 'Changed', disabled: true });
  });
});

describe('an imported password', () => {
  it('is set if the user has none, and never replaces one', async () => {
    const email = 'none@example.com';
    await world.load([user(ACME, email)]);
    expect(await outcomeOf(user(ACME, email, { password: FIRST }))).toBe('accepted');
    const hash = await hashOf(email);
    expect(await verifyPassword(FIRST, hash)).toBe(true);
    expect(await outcomeOf(user(ACME, email, { password: SECOND }))).toBe('unchanged');
    expect(await outcomeOf(user(ACME, email, { password: SECOND, name: 'New' }))).toBe('accepted');
    expect(await hashOf(email)).toBe(hash);
  });

  it('is the first one in a file, because an import replaces no password', async () => {
    const email = 'file@example.com';
    await world.load([
      user(ACME, email),
      user(ACME, email.toUpperCase(), { password: FIRST }),
      user(ACME, email, { password: SECOND }),
      user(GLOBEX, email, { password: SECOND }),
    ]);
    expect(await verifyPassword(FIRST, await hashOf(email))).toBe(true);
    expect(await verifyPassword(SECOND, await hashOf(email, GLOBEX))).toBe(true);
  });

  it('is checked for being easy to guess only if it would be set: a file with an old password can be imported again', async () => {
    const email = 'old@example.com';
    await world.load([user(ACME, email, { password: FIRST })]);
    const before = await hashOf(email);
    expect(await outcomeOf(user(ACME, email, { password: 'password12345' }))).toBe('unchanged');
    expect(await hashOf(email)).toBe(before);
  });

  it('of a refused record is not set, and a later record of the user can set one', async () => {
    const email = 'second.try@example.com';
    const lines = [user(ACME, email, { password: 'password12345' }), user(ACME, email, { password: SECOND })];
    expect(await world.tryLoad(lines)).toMatchObject({
      accepted: 1,
      refused: [expect.stringMatching(/^1: password: is too easy/)],
    });
    expect(await verifyPassword(SECOND, await hashOf(email))).toBe(true);
  });

  it('does not replace one set by an operator', async () => {
    const email = 'operator@example.com';
    await world.operator.auth.createUser({ email, name: 'X', password: FIRST }, await world.operate(ACME));
    await world.load([user(ACME, email, { password: SECOND })]);
    expect(await verifyPassword(FIRST, await hashOf(email))).toBe(true);
  });
});

describe('a user record', () => {
  const EMAIL = 'must be an e-mail address of 3 to 254 characters';
  const SHORTEST = 'x8f3kQz2pLw4';
  const GUESSABLE =
    'is too easy to guess: take a random one, or four unrelated words without names, dates and well-known phrases';
  const PASSWORD = 'must have 12 to 256 characters';

  it.each<[object]>([
    [{ name: '😀'.repeat(200) }],
    [{ email: 'a@b' }],
    [{ email: `${'😀'.repeat(252)}@b` }],
    [{ password: SHORTEST }],
    [{ password: SHORTEST.padEnd(256, 'x') }],
    [{ password: `${SHORTEST}${'😀'.repeat(244)}` }],
  ])('is accepted at the limit: %j', async (change) => {
    const email = `${randomUUID()}@example.com`;
    expect(await outcomeOf({ type: 'user', organization: ACME, email, name: 'x', ...change })).toBe('accepted');
  });

  it.each<[string, string, object]>([
    ['email', EMAIL, { email: '' }],
    ['email', EMAIL, { email: '@b' }],
    ['email', EMAIL, { email: 'a b@c' }],
    ['email', EMAIL, { email: `${'😀'.repeat(253)}@b` }],
    ['email', 'must not contain the NUL character', { email: 'a\u0000@b' }],
    ['email', 'must not contain a lone surrogate', { email: 'a\udc00@b' }],
    ['email', 'is required', { email: undefined }],
    ['email', 'must be text', { email: null }],
    ['name', 'must be text', { name: ['x'] }],
    ['name', 'must have 1 to 200 characters', { name: 'x'.repeat(201) }],
    ['name', 'must not contain the NUL character', { name: '\u0000' }],
    ['name', 'must not contain a lone surrogate', { name: 'x\ud83d' }],
    ['password', PASSWORD, { password: SHORTEST.slice(1) }],
    ['password', PASSWORD, { password: '😀'.repeat(257) }],
    ['password', PASSWORD, { password: '' }],
    ['password', 'must not contain the NUL character', { password: `${SHORTEST}\u0000` }],
    ['password', GUESSABLE, { password: 'password12345' }],
    ['password', GUESSABLE, { password: 'bad@example.com' }],
    ['password', GUESSABLE, { password: 'Gertrude Winterbottom', name: 'Gertrude Winterbottom' }],
    ['is_admin', 'is not a known property', { is_admin: false }],
    ['id', 'is not a known property', { id: 'x' }],
    ['organization', 'must be an organization that exists', { organization: tenant('nowhere') }],
    ['organization', 'is required', { organization: undefined }],
  ])('is refused with a bad %s: %s', async (field, reason, change) => {
    const before = await world.rows('select * from auth.users where organization = any($1) order by 1, 2', [TENANTS]);
    const record = { type: 'user', organization: ACME, email: 'bad@example.com', name: 'x', password: FIRST, ...change };
    expect(await outcomeOf(record)).toBe(`1: ${field}: ${reason}`);
    expect(await world.rows('select * from auth.users where organization = any($1) order by 1, 2', [TENANTS])).toEqual(before);
  });
});
