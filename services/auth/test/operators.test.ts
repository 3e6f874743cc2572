import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { digestOf } from '@crs/kit/api-key';
import { OPERATOR_CREDENTIAL } from '@crs/testing/setup';
import { createOperatorCredential } from '@crs/kit/operator-credential';
import { ensureOperator } from '../src/store/operators.ts';
import { ADMIN, failureOf, PEOPLE_AND_PROJECTS, startAuthWorld, TENANTS, type AuthWorld } from './_fixtures.ts';

let world: AuthWorld;
beforeAll(async () => {
  world = await startAuthWorld(PEOPLE_AND_PROJECTS);
});
afterAll(() => world?.close());

const admin = () => world.operator.auth;
const issue = (credential: string, organizationId = '') => admin().issueOperatorToken({ credential, organizationId });
const create = async (name: string) => admin().createOperator({ ...ADMIN, name }, await world.operate());
const revoke = async (name: string) => admin().revokeOperator({ name }, await world.operate());
const list = async () => (await admin().listOperators({}, await world.operate())).operators;
const REFUSED = {
  kind: 'unauthenticated',
  reason: 'INVALID_OPERATOR',
  message: 'The operator credential is unknown, revoked or expired.',
};

describe('an operator token', () => {
  it('is for one organization, existing or not, or for none, and is valid for a minute', async () => {
    for (const id of ['acme', 'not-there-yet', '']) {
      const { identity, iat, exp } = decodeJwt<{ identity: object }>((await issue(OPERATOR_CREDENTIAL, id)).operatorToken);
      expect(identity).toEqual({
        kind: 'operator',
        name: 'local',
        since: expect.any(String),
        ...(id !== '' && { organization: id }),
      });
      expect(exp! - iat!).toBe(60);
    }
  });

  it.each(['', 'x', createOperatorCredential(), `${OPERATOR_CREDENTIAL} `, OPERATOR_CREDENTIAL.toUpperCase(), 'a\u0000b'])(
    'is not issued for an unknown credential (%#)',
    async (credential) => {
      expect(await failureOf(issue(credential))).toEqual(REFUSED);
      expect(await failureOf(issue(credential, 'acme'))).toEqual(REFUSED);
    },
  );

  it.each(['0', 'a', '9-', 'a'.repeat(40), 'a--b'])('is issued for the organization id %s', async (id) => {
    expect(await failureOf(issue(OPERATOR_CREDENTIAL, id))).toBeUndefined();
  });

  it.each(['-', '-a', 'A', 'a_b', 'a.b', 'ä', '*', ' ', 'a ', 'a\n', '\u0000', 'a'.repeat(41)])(
    'is not issued for an invalid organization id: %j',
    async (id) => {
      expect(await failureOf(issue(OPERATOR_CREDENTIAL, id))).toMatchObject({ kind: 'invalid_argument', field: 'organization' });
    },
  );

  it('gives access to its own organization only, although both have the same people', async () => {
    for (const tenant of TENANTS) {
      const { users } = await admin().listUsers({}, await world.operate(tenant));
      expect(users.map(({ name }) => name)).toEqual([`ann@example.com of ${tenant}`, `bob@example.com of ${tenant}`]);
    }
  });
});

describe('operators', () => {
  it('are created with a credential that is shown once and stored as a digest', async () => {
    const { operator, credential } = await create('olga');
    expect(operator).toEqual({
      name: 'olga',
      role: 'admin',
      organizationIds: [],
      createdAt: expect.any(Date),
      expiresAt: undefined,
      revokedAt: undefined,
    });
    expect(credential).toMatch(/^cro_[0-9A-Za-z_-]{43}$/);
    expect(await failureOf(issue(credential))).toBeUndefined();
    const [row] = await world.rows(`select digest, o::text as row from auth.operators o where name = 'olga'`);
    expect(row!['digest']).toEqual(digestOf(credential));
    expect(row!['row']).not.toContain(credential.slice(4));
    expect(JSON.stringify(await list())).not.toContain(credential);
  });

  it('are unique by name among live operators', async () => {
    const first = await create('uma');
    expect(await failureOf(create('uma'))).toMatchObject({ kind: 'already_exists', field: 'name' });
    await revoke('uma');
    const second = await create('uma');
    expect(await failureOf(issue(first.credential))).toEqual(REFUSED);
    expect(await failureOf(issue(second.credential))).toBeUndefined();
    const umas = (await list()).filter(({ name }) => name === 'uma');
    expect(umas.map(({ revokedAt }) => revokedAt !== undefined)).toEqual([true, false]);
  });

  it('have names of 1 to 100 characters', async () => {
    for (const name of ['x', '😀'.repeat(100)]) expect((await create(name)).operator!.name).toBe(name);
    for (const name of ['', '😀'.repeat(101), 'a\u0000b']) {
      expect(await failureOf(create(name))).toMatchObject({ kind: 'invalid_argument', field: 'name' });
    }
  });

  it('are listed by name, independent of the locale', async () => {
    await create('Zoe');
    await create('_under');
    const names = (await list()).map(({ name }) => name);
    expect(names).toEqual(names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))));
  });

  it('get no token once they are revoked, while other operators do', async () => {
    const [revoked, other] = [await create('gone'), await create('stays')];
    const { operator } = await revoke('gone');
    expect(operator).toEqual({ ...revoked.operator, revokedAt: expect.any(Date) });
    expect(await failureOf(issue(revoked.credential, 'acme'))).toEqual(REFUSED);
    expect(await failureOf(issue(other.credential, 'acme'))).toBeUndefined();
  });

  it("can't be revoked twice or if unknown", async () => {
    await create('twice');
    await revoke('twice');
    for (const name of ['twice', 'nobody', '', 'a\u0000b']) expect((await failureOf(revoke(name)))?.kind, name).toBe('not_found');
  });

  it("can't all be revoked: of two that revoke each other at once, one remains", async () => {
    for (const { name } of (await list()).filter(({ name, revokedAt }) => name !== 'local' && !revokedAt)) await revoke(name);
    await create('other');
    // Both calls have begun before either gets its lock.
    const outcomes = await world.meanwhile(
      'select from auth.operators for update',
      () => Promise.all(['local', 'other'].map((name) => failureOf(revoke(name)))),
      2,
    );
    const failures = outcomes.filter((outcome) => outcome !== undefined);
    expect(failures).toHaveLength(1);
    expect(failures[0]).toMatchObject({ kind: 'failed_precondition', field: 'name' });
    expect(await world.rows('select name from auth.operators where revoked_at is null')).toHaveLength(1);
    await world.rows(`update auth.operators set revoked_at = null where name = 'local'`);
  });
});

describe('the credential of an installation', () => {
  const count = async (name: string) => (await world.rows(`select 1 from auth.operators where name = $1`, [name])).length;

  it('creates an operator at the first start, and none at the next', async () => {
    const credential = createOperatorCredential();
    for (let i = 0; i < 2; i++) await ensureOperator({ adminUrl: world.databaseUrl }, 'bootstrap', digestOf(credential));
    expect(await count('bootstrap')).toBe(1);
    expect(await failureOf(issue(credential))).toBeUndefined();
  });

  it('is not admitted again after its revocation', async () => {
    const credential = createOperatorCredential();
    await ensureOperator({ adminUrl: world.databaseUrl }, 'first', digestOf(credential));
    await revoke('first');
    await ensureOperator({ adminUrl: world.databaseUrl }, 'first', digestOf(credential));
    expect(await failureOf(issue(credential))).toEqual(REFUSED);
  });

  it('does not replace the credential of a live operator', async () => {
    const [old, other] = [createOperatorCredential(), createOperatorCredential()];
    await ensureOperator({ adminUrl: world.databaseUrl }, 'second', digestOf(old));
    await ensureOperator({ adminUrl: world.databaseUrl }, 'second', digestOf(other));
    expect(await failureOf(issue(old))).toBeUndefined();
    expect(await failureOf(issue(other))).toEqual(REFUSED);
  });
});
