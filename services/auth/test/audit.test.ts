import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { digestOf } from '@crs/kit/api-key';
import { ProjectRole } from '@crs/proto/crs/auth/v1/admin';
import { OPERATOR_CREDENTIAL } from '@crs/testing/setup';
import { ADMIN, ALPHA, ANN, failureOf, organization, project, startAuthWorld, user, type AuthWorld } from './_fixtures.ts';

const { PROJECT_ROLE_LEAD: LEAD } = ProjectRole;

let world: AuthWorld;
/** Secrets that no entry may contain. */
const secrets: string[] = [OPERATOR_CREDENTIAL];
beforeAll(async () => {
  world = await startAuthWorld();
});
afterAll(() => world?.close());

const settings = (name?: string) => ({
  settings: {
    name,
    writeSurface: undefined,
    anonymizeInterviewees: undefined,
    allowedFields: undefined,
    rateLimit: undefined,
    toolRateLimit: undefined,
    deleteLimit: undefined,
    oidcProvider: undefined,
    assertionIssuers: undefined,
  },
});
const trail = async (tenant?: string, limit = 0) =>
  (await world.operator.auth.listAudit({ limit }, await world.operate(tenant))).entries;
const record = async (action: string, target: string, tenant = 'acme') =>
  world.auth.recordAudit({ action, target, address: '', counted: false }, await world.operate(tenant));

/** The entries that a change adds, each as `organization actor action target`, with the outcome of a refusal. */
async function entriesOf(change: () => Promise<unknown>): Promise<string[]> {
  const [{ last } = { last: '0' }] = await world.rows<{ last: string }>(
    'select coalesce(max(audit_id), 0) as last from auth.audit',
  );
  await change();
  const rows = await world.rows<{ entry: string }>(
    `select concat_ws(' ', organization, actor, action, nullif(target, ''), nullif(outcome, 'done')) as entry
      from auth.audit where audit_id > $1 order by audit_id`,
    [last],
  );
  return rows.map(({ entry }) => entry);
}

describe('the audit trail', () => {
  it('has one entry for each change, with organization, actor, action and target', async () => {
    const { auth } = world.operator;
    const acme = await world.operate('acme');
    const none = await world.operate();
    expect(await entriesOf(() => auth.createOrganization(settings('Acme'), acme))).toEqual([
      'acme local organization.create acme',
    ]);
    expect(await entriesOf(() => auth.updateOrganization(settings('Acme Inc.'), acme))).toEqual([
      'acme local organization.update acme',
    ]);

    secrets.push('a very secret password');
    const ann = { email: ANN, name: 'Ann', password: 'a very secret password' };
    expect(await entriesOf(() => auth.createUser(ann, acme))).toEqual([`acme local user.create ${ANN}`]);
    const annIs = (disabled: boolean) => entriesOf(() => auth.setUserDisabled({ email: ANN.toUpperCase(), disabled }, acme));
    expect(await annIs(true)).toEqual([`acme local user.disable ${ANN}`]);
    expect(await annIs(false)).toEqual([`acme local user.enable ${ANN}`]);

    secrets.push('another secret password');
    const bob = user('acme', 'bob@example.com', { password: 'another secret password' });
    expect(await entriesOf(() => world.load([bob]))).toEqual(['acme local auth.import 1 lines']);
    expect(await entriesOf(() => world.load([project('acme', ALPHA)]))).toHaveLength(1);

    const [row] = await world.rows<{ id: string }>('select user_id as id from auth.users where email = $1', [ANN]);
    const member = { projectId: ALPHA, email: ANN, role: LEAD };
    expect(await entriesOf(() => auth.addMember(member, acme))).toEqual([`acme local member.add.lead ${ALPHA} ${row!.id}`]);
    expect(await entriesOf(() => auth.removeMember(member, acme))).toEqual([`acme local member.remove.lead ${ALPHA} ${row!.id}`]);

    let keyId = '';
    const created = await entriesOf(async () => {
      const { apiKey, secret } = await auth.createKey({ label: 'a label', expiresInSeconds: 0, rights: [], networks: [] }, acme);
      keyId = apiKey!.keyId;
      secrets.push(secret);
    });
    expect(created).toEqual([`acme local key.create ${keyId}`]);
    expect(await entriesOf(() => auth.revokeKey({ keyId }, acme))).toEqual([`acme local key.revoke ${keyId}`]);

    const hired = await entriesOf(async () =>
      secrets.push((await auth.createOperator({ ...ADMIN, name: 'olga' }, none)).credential),
    );
    expect(hired).toEqual(['* local operator.create olga']);
    expect(await entriesOf(() => auth.revokeOperator({ name: 'olga' }, none))).toEqual(['* local operator.revoke olga']);
  });

  it('lists the changed settings with their old and new values, but no secret', async () => {
    const { auth } = world.operator;
    const acme = await world.operate('acme');
    const oidcProvider = {
      issuer: 'https://idp.example',
      clientId: 'crs',
      clientSecret: 'a client secret',
      domains: ['acme.example'],
    };
    secrets.push(oidcProvider.clientSecret);
    const { settings: none } = settings();
    const allowedFields = { default: false, fields: ['summary'] };
    await auth.updateOrganization({ settings: { ...none, writeSurface: true, allowedFields, oidcProvider } }, acme);
    const entry = (await trail('acme')).find(({ action }) => action === 'organization.update')!;
    expect(
      Object.fromEntries(entry.changes.map(({ setting, from, to }) => [setting, [JSON.parse(from), JSON.parse(to)]])),
    ).toEqual({
      write_surface: [false, true],
      allowed_fields: ['default', ['summary']],
      oidc_email_proof: [null, 'claim'],
      oidc_issuer: [null, 'https://idp.example'],
      oidc_client_id: [null, 'crs'],
      oidc_domains: [null, ['acme.example']],
      oidc_client_secret: [null, null],
    });
    await auth.updateOrganization({ settings: { ...none, oidcProvider: { ...oidcProvider, issuer: '' } } }, acme);
    await world.load([organization('acme', { name: 'Acme again' })]);
    const imported = (await trail('acme')).find(({ action }) => action === 'auth.import')!;
    expect(imported.changes).toEqual([{ setting: 'name', from: '"Acme Inc."', to: '"Acme again"' }]);
  });

  it('has an entry for each read and each refusal, with its outcome and address', async () => {
    const { auth } = world.operator;
    const acme = await world.operate('acme');
    const none = await world.operate();
    const entry = async (call: () => Promise<unknown>) => (await entriesOf(() => failureOf(call()))).join();
    expect(await entry(() => auth.listUsers({}, acme))).toBe('acme local user.list');
    expect(await entry(() => auth.listOrganizations({}, none))).toBe('* local organization.list');
    expect(await entry(() => trail('acme'))).toBe('acme local audit.list');
    expect(await entry(() => auth.createOrganization(settings('Acme'), acme))).toBe(
      'acme local organization.create already_exists',
    );
    expect(await entry(() => auth.createUser({ email: ANN, name: 'Ann', password: '' }, acme))).toBe(
      'acme local user.create already_exists',
    );
    expect(await entry(() => auth.revokeKey({ keyId: 'key_unknown' }, acme))).toBe('acme local key.revoke not_found');
    expect(await entry(() => auth.listUsers({}, none))).toBe('* local user.list permission_denied');
    expect(await entry(() => auth.listUsers({}, {}))).toBe('* unknown operator user.list unauthenticated');
    const [latest] = await world.rows<{ address: string }>('select address from auth.audit order by audit_id desc limit 1');
    expect(latest!.address).toBe('127.0.0.1');
  });

  it('has an entry for a call that another service refused', async () => {
    const erase = () => world.operator.erasers.calls.erase({ target: undefined }, {});
    expect(await entriesOf(() => failureOf(erase()))).toEqual(['* unknown operator erase unauthenticated']);
    const key = await world.asOrganization('acme');
    const byKey = await entriesOf(() => failureOf(world.operator.erasers.calls.erase({ target: undefined }, key)));
    expect(byKey).toEqual([expect.stringMatching(/^acme key key_\w+ erase permission_denied$/)]);
  });

  it('counts wrong credentials from one address in one entry per minute, and limits the number of entries for many addresses', async () => {
    const guess = () => failureOf(world.operator.auth.issueOperatorToken({ credential: 'cro_wrong', organizationId: '' }));
    for (let i = 0; i < 20; i++) await guess();
    const rows = await world.rows<{ count: number }>(
      `select count from auth.audit where action = 'operator.token' and outcome = 'unauthenticated'`,
    );
    expect(rows.reduce((sum, { count }) => sum + count, 0)).toBe(20);
    // A new minute may have begun meanwhile.
    expect(rows.length).toBeLessThanOrEqual(2);

    for (let i = 0; i < 300; i++) {
      await world.auth.recordRefusal({
        action: 'calls.import',
        outcome: 'unauthenticated',
        address: `10.0.${i >> 8}.${i & 255}`,
      });
    }
    const [{ entries, refusals } = { entries: 0, refusals: 0 }] = await world.rows<{ entries: number; refusals: number }>(
      `select count(*)::int as entries, sum(count)::int as refusals from auth.audit where action = 'calls.import'`,
    );
    expect(refusals).toBe(300);
    expect(entries).toBeLessThanOrEqual(202);
  });

  it('names the operator who made the change', async () => {
    const { credential } = await world.operator.auth.createOperator({ ...ADMIN, name: 'other' }, await world.operate());
    const { operatorToken: token } = await world.operator.auth.issueOperatorToken({ credential, organizationId: 'acme' });
    const entries = await entriesOf(() =>
      world.operator.auth.createUser({ email: 'x@example.com', name: 'X', password: '' }, { token }),
    );
    expect(entries).toEqual(['acme other user.create x@example.com']);
  });

  it('never holds a secret, and neither does the log', async () => {
    const audit = JSON.stringify(await world.rows('select audit::text as row from auth.audit'));
    expect(secrets.length).toBeGreaterThan(4);
    for (const secret of secrets) {
      for (const form of [secret, digestOf(secret).toString('hex'), digestOf(secret).toString('base64')]) {
        expect(audit).not.toContain(form);
        expect(world.log.join('')).not.toContain(form);
      }
    }
  });
});

describe('reading the trail', () => {
  beforeAll(() => world.load([organization('globex'), user('globex', ANN)]));

  it('returns only the entries of the organization, newest first', async () => {
    for (const tenant of ['acme', 'globex']) {
      const entries = await trail(tenant, 1000);
      expect(new Set(entries.map(({ organizationId }) => organizationId))).toEqual(new Set([tenant]));
      const times = entries.map(({ at }) => at!.getTime());
      expect(times).toEqual(times.toSorted((a, b) => b - a));
    }
    expect(await trail('nowhere')).toEqual([]);
    expect((await trail('nowhere')).map(({ action }) => action)).toEqual(['audit.list']);
  });

  it('returns all entries, including those without an organization, for an operator token without an organization', async () => {
    const entries = await trail(undefined, 1000);
    const [{ all } = { all: '' }] = await world.rows<{ all: string }>('select count(*) as all from auth.audit');
    // This read has added one more entry.
    expect(entries).toHaveLength(Number(all) - 1);
    expect(new Set(entries.map(({ organizationId }) => organizationId))).toEqual(new Set(['acme', 'globex', 'nowhere', '']));
    expect(entries.filter(({ organizationId }) => organizationId === '').map(({ action }) => action)).toContain(
      'operator.create',
    );
  });

  it('returns 100 entries by default, and at most 1000', async () => {
    await world.rows(`insert into auth.audit (organization, actor, action, target)
      select case when i % 2 = 0 then 'acme' else 'globex' end, 'many', 'test', i::text from generate_series(1, 2400) i`);
    expect((await trail('acme')).map(({ target }) => target)).toEqual(
      Array.from({ length: 100 }, (_, i) => String(2400 - 2 * i)),
    );
    expect(await trail('acme', 1)).toMatchObject([{ action: 'audit.list' }]);
    const [, , ...before] = await trail();
    expect(before.map(({ target }) => target)).toEqual(Array.from({ length: 98 }, (_, i) => String(2400 - i)));
    expect(await trail('acme', 1000)).toHaveLength(1000);
    expect(await failureOf(trail('acme', 1001))).toMatchObject({ kind: 'invalid_argument', field: 'limit' });
  });
});

describe('RecordAudit', () => {
  it("records an action that another service is about to take, with the operator's name and organization", async () => {
    expect(await entriesOf(() => record('calls.import', '7 records', 'globex'))).toEqual(['globex local calls.import 7 records']);
    expect(await trail('globex', 1)).toMatchObject([
      {
        at: expect.any(Date),
        actor: 'local',
        action: 'calls.import',
        organizationId: 'globex',
        target: '7 records',
        outcome: 'done',
      },
    ]);
  });

  it('accepts an action of 1 to 100 characters and a target of at most 500', async () => {
    expect(await failureOf(record('x', ''))).toBeUndefined();
    expect(await failureOf(record('😀'.repeat(100), '😀'.repeat(500)))).toBeUndefined();
    for (const [field, action, target] of [
      ['action', '', 'x'],
      ['action', '😀'.repeat(101), 'x'],
      ['action', 'a\u0000', 'x'],
      ['target', 'x', '😀'.repeat(501)],
      ['target', 'x', '\u0000'],
    ] as const) {
      expect(await failureOf(record(action, target))).toMatchObject({ kind: 'invalid_argument', field });
    }
  });
});
