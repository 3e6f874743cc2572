import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { OidcProviderSettings } from '@crs/proto/crs/auth/v1/admin';
import { parseSecrets } from '@crs/kit/process/secrets';
import { SECRET } from '@crs/testing/setup';
import { createSeals } from '../src/keys/seals.ts';
import { ANN, failureOf, PEOPLE_AND_PROJECTS, startAuthWorld, type AuthWorld } from './_fixtures.ts';

let world: AuthWorld;
beforeAll(async () => {
  world = await startAuthWorld(PEOPLE_AND_PROJECTS);
});
afterAll(() => world?.close());

const NOTHING = {
  name: undefined,
  writeSurface: undefined,
  anonymizeInterviewees: undefined,
  allowedFields: undefined,
  rateLimit: undefined,
  toolRateLimit: undefined,
};
const set = async (oidcProvider: Partial<OidcProviderSettings>, tenant = 'acme') => {
  const settings = { ...NOTHING, oidcProvider: { domains: [], ...oidcProvider } };
  return (await world.operator.auth.updateOrganization({ settings }, await world.operate(tenant))).organization!.oidcProvider;
};
const storedSecret = async (tenant = 'acme') => {
  const [row] = await world.rows<{ sealed: Buffer | null }>(
    'select oidc_client_secret_sealed as sealed from auth.organizations where organization = $1',
    [tenant],
  );
  return row!.sealed && createSeals(parseSecrets(SECRET)).organizations.open(row!.sealed, tenant).toString();
};
const WHOLE = { issuer: 'https://idp.example', clientId: 'crs', clientSecret: 'hush-hush', domains: ['acme.example'] };
const SHOWN = { issuer: 'https://idp.example', clientId: 'crs', hasClientSecret: true, domains: ['acme.example'] };

beforeEach(() => set({ issuer: '' }));

describe("an organization's OpenID provider", () => {
  it('is absent at first', async () => {
    const { organizations } = await world.operator.auth.listOrganizations({}, await world.operate());
    expect(organizations.map(({ oidcProvider }) => oidcProvider)).toEqual([undefined, undefined]);
  });

  it('is set, shown without its secret, and removed as a whole', async () => {
    expect(await set(WHOLE)).toEqual(SHOWN);
    const { organizations } = await world.operator.auth.listOrganizations({}, await world.operate());
    expect(organizations.map(({ oidcProvider }) => oidcProvider)).toEqual([SHOWN, undefined]);
    expect(await storedSecret()).toBe('hush-hush');
    expect(await set({ issuer: '' })).toBeUndefined();
    expect(await storedSecret()).toBeNull();
  });

  it('may come with a new organization', async () => {
    const settings = { ...NOTHING, name: 'New', oidcProvider: WHOLE };
    const { organization } = await world.operator.auth.createOrganization({ settings }, await world.operate('new'));
    expect(organization!.oidcProvider).toEqual(SHOWN);
    expect(await storedSecret('new')).toBe('hush-hush');
  });

  it('keeps omitted fields', async () => {
    await set(WHOLE);
    expect(await set({ domains: ['B.Example', 'a.example', 'b.example'] })).toEqual({
      ...SHOWN,
      domains: ['a.example', 'b.example'],
    });
    expect(await set({ issuer: 'https://idp.example/' })).toMatchObject({ issuer: 'https://idp.example', hasClientSecret: true });
    expect(await storedSecret()).toBe('hush-hush');
    expect(await set({ clientSecret: 'another' })).toMatchObject({ hasClientSecret: true });
    expect(await storedSecret()).toBe('another');
    expect(await set({ clientSecret: '' })).toMatchObject({ hasClientSecret: false });
  });

  it('never gets the secret of another', async () => {
    await set(WHOLE);
    expect(await failureOf(set({ issuer: 'https://other.example' }))).toMatchObject({ field: 'oidc_client_id' });
    expect(await set({ issuer: 'https://other.example', clientId: 'crs' })).toMatchObject({
      hasClientSecret: false,
      domains: ['acme.example'],
    });
    await set(WHOLE);
    expect(await set({ clientId: 'other' })).toMatchObject({ clientId: 'other', hasClientSecret: false });
  });

  it.each([
    ['oidc_issuer', { issuer: undefined }],
    ['oidc_issuer', { issuer: 'http://idp.example' }],
    ['oidc_issuer', { issuer: 'https://me:secret@idp.example' }],
    ['oidc_issuer', { issuer: 'https://idp.example?x=1' }],
    ['oidc_issuer', { issuer: 'https://idp.example#x' }],
    ['oidc_issuer', { issuer: 'idp.example' }],
    ['oidc_client_id', { clientId: undefined }],
    ['oidc_client_id', { clientId: '' }],
    ['oidc_domains', { domains: [] }],
    ['oidc_domains', { domains: ['acme'] }],
    ['oidc_domains', { domains: ['acme.example', '*.acme.example'] }],
    ['oidc_domains', { domains: ['ann@acme.example'] }],
    ['oidc_domains', { domains: [''] }],
  ])('is refused for a bad %s (%#)', async (field, settings) => {
    expect(await failureOf(set({ ...WHOLE, ...settings }))).toMatchObject({ kind: 'invalid_argument', field });
    expect(await storedSecret()).toBeNull();
  });

  it('is in the audit trail, without its secret', async () => {
    await set(WHOLE);
    await set({ issuer: '' });
    const trail = await world.rows<{ entry: string }>(
      `select concat_ws(' ', organization, actor, action, target) as entry from auth.audit order by audit_id desc limit 4`,
    );
    expect(trail.map(({ entry }) => entry).toReversed()).toEqual([
      'acme local organization.update acme',
      'acme local organization.oidc acme https://idp.example',
      'acme local organization.update acme',
      'acme local organization.oidc acme none',
    ]);
    expect(world.log.join('')).not.toContain('hush-hush');
  });
});

describe('the accounts of a user', () => {
  const accounts = (tenant: string) =>
    world.rows(`select issuer, subject from auth.user_identities where organization = $1`, [tenant]);

  it('can be removed by an operator, for that user alone', async () => {
    await world.rows(
      `insert into auth.user_identities (organization, issuer, subject, user_id)
        select organization, 'https://idp.example', email, user_id from auth.users`,
    );
    await world.operator.auth.unlinkUser({ email: ANN.toUpperCase() }, await world.operate('acme'));
    expect(await accounts('acme')).toEqual([{ issuer: 'https://idp.example', subject: 'bob@example.com' }]);
    expect(await accounts('globex')).toHaveLength(2);
    const nobody = world.operator.auth.unlinkUser({ email: 'nobody@example.com' }, await world.operate('acme'));
    expect((await failureOf(nobody))?.kind).toBe('not_found');
  });

  it('are deleted with the user', async () => {
    const target = { target: { $case: 'email' as const, value: ANN } };
    await world.operator.auth.beginErasure({ target }, await world.operate('globex'));
    await world.operator.auth.finishErasure({ target }, await world.operate('globex'));
    expect(await accounts('globex')).toEqual([{ issuer: 'https://idp.example', subject: 'bob@example.com' }]);
  });
});
