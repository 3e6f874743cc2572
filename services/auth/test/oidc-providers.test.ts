import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { OidcProviderSettings } from '@crs/proto/crs/auth/v1/admin';
import type { CallOptions } from '@crs/kit/rpc/client';
import { parseSecrets } from '@crs/kit/process/secrets';
import { SECRET } from '@crs/testing/setup';
import { createEncrypters } from '../src/keys/encrypters.ts';
import {
  ADMIN,
  ANN,
  failureOf,
  organization,
  PEOPLE_AND_PROJECTS,
  startAuthWorld,
  TENANTS,
  type AuthWorld,
} from './_fixtures.ts';

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
const set = async (oidcProvider: Partial<OidcProviderSettings>, tenant = 'acme', by?: CallOptions) => {
  const settings = { ...NOTHING, oidcProvider: { domains: [], ...oidcProvider } };
  const { organization } = await world.operator.auth.updateOrganization({ settings }, by ?? (await world.operate(tenant)));
  return organization!.oidcProvider;
};
const storedSecret = async (tenant = 'acme') => {
  const [row] = await world.rows<{ sealed: Buffer | null }>(
    'select oidc_client_secret_encrypted as sealed from auth.organizations where organization = $1',
    [tenant],
  );
  return row!.sealed && createEncrypters(parseSecrets(SECRET)).organizations.decrypt(row!.sealed, tenant).toString();
};
const WHOLE = { issuer: 'https://idp.example', clientId: 'crs', clientSecret: 'hush-hush', domains: ['acme.example'] };
const SHOWN = { issuer: 'https://idp.example', clientId: 'crs', hasClientSecret: true, domains: ['acme.example'] };

beforeEach(async () => {
  for (const tenant of TENANTS) await set({ issuer: '' }, tenant);
});

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
    const settings = { ...NOTHING, name: 'New', oidcProvider: { ...WHOLE, domains: ['new.example'] } };
    const { organization } = await world.operator.auth.createOrganization({ settings }, await world.operate('new'));
    expect(organization!.oidcProvider).toEqual({ ...SHOWN, domains: ['new.example'] });
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

describe('an e-mail domain', () => {
  const domainsOf = async (tenant: string) => {
    const { organization } = await world.operator.auth.getOrganization({}, await world.operate(tenant));
    return organization!.oidcProvider?.domains;
  };
  const owners = async () =>
    (
      await world.rows<{ row: string }>(
        `select domain || ' ' || organization as row from auth.domain_directory where organization <> 'new' order by 1`,
      )
    ).map(({ row }) => row);
  const operatorToken = async (rights: Partial<typeof ADMIN>) => {
    const { credential } = await world.operator.auth.createOperator(
      { ...ADMIN, name: `operator ${crypto.randomUUID()}`, role: 'manager', ...rights },
      await world.operate(),
    );
    const { operatorToken: token } = await world.operator.auth.issueOperatorToken({ credential, organizationId: 'acme' });
    return { token };
  };
  const TAKEN = {
    kind: 'already_exists',
    field: 'oidc_domains',
    message:
      'oidc_domains: acme.example belongs to the organization acme. To move it, remove it there first: "org update acme --oidc-domains" with the other domains, or "--oidc-issuer none".',
  };

  it('belongs to one organization: a second one, existing or new, is refused as a whole', async () => {
    await set(WHOLE);
    const wanted = { ...WHOLE, domains: ['acme.example', 'globex.example'] };
    expect(await failureOf(set(wanted, 'globex'))).toMatchObject(TAKEN);
    const settings = { ...NOTHING, name: 'Third', oidcProvider: wanted };
    const created = world.operator.auth.createOrganization({ settings }, await world.operate('third'));
    expect(await failureOf(created)).toMatchObject(TAKEN);
    expect(await domainsOf('globex')).toBeUndefined();
    expect(await world.rows(`select 1 from auth.organizations where organization = 'third'`)).toEqual([]);
    expect(await owners()).toEqual(['acme.example acme']);
  });

  it('goes to exactly one of two organizations that claim it at the same time', async () => {
    for (let round = 0; round < 5; round++) {
      const domains = ['a', 'b', 'c'].map((name) => `${name}${round}.example`);
      const claims = [set({ ...WHOLE, domains }), set({ ...WHOLE, domains: domains.toReversed() }, 'globex')];
      const failures = await Promise.all(claims.map(failureOf));
      expect(failures.filter((failure) => failure !== undefined)).toMatchObject([{ kind: 'already_exists' }]);
      const winner = failures[0] ? 'globex' : 'acme';
      expect(await owners()).toEqual(domains.map((domain) => `${domain} ${winner}`));
      for (const tenant of TENANTS) await set({ issuer: '' }, tenant);
    }
  });

  it('is free again once its organization gives it up, has no provider, or is deleted', async () => {
    const claim = { ...WHOLE, domains: ['one.example'] };
    await set({ ...WHOLE, domains: ['one.example', 'two.example'] });
    await set({ domains: ['two.example'] });
    expect(await set(claim, 'globex')).toMatchObject({ domains: ['one.example'] });
    await set({ issuer: '' }, 'globex');
    expect(await set({ domains: ['one.example', 'two.example'] })).toMatchObject({ domains: ['one.example', 'two.example'] });
    await set({ issuer: '' });

    await world.load([organization('passing')]);
    await set(claim, 'passing');
    const target = { target: { $case: 'organization' as const, value: true } };
    await world.operator.auth.beginErasure({ target }, await world.operate('passing'));
    expect(await failureOf(set(claim))).toMatchObject({ kind: 'already_exists' });
    await world.operator.auth.finishErasure({ target }, await world.operate('passing'));
    expect(await set(claim)).toMatchObject({ domains: ['one.example'] });
  });

  it('can be kept and removed, but not added, by an operator who is bound to organizations', async () => {
    const unbound = await operatorToken({});
    const bound = await operatorToken({ organizationIds: ['acme'] });
    await set({ ...WHOLE, domains: ['globex.example'] }, 'globex');
    const first = await failureOf(set(WHOLE, 'acme', bound));
    expect(first).toMatchObject({ kind: 'permission_denied', reason: 'OPERATOR_BOUND', field: 'oidc_domains' });
    await set({ ...WHOLE, domains: ['acme.example', 'b.example'] }, 'acme', unbound);

    const kept = { domains: ['acme.example', 'b.example'] };
    expect(await set({ ...WHOLE, issuer: 'https://other.example', ...kept }, 'acme', bound)).toMatchObject(kept);
    expect(await set({ clientId: 'crs', domains: [] }, 'acme', bound)).toMatchObject(kept);
    // A domain of another organization is refused like a free one, so a bound operator doesn't learn whose it is.
    for (const added of ['globex.example', 'free.example']) {
      const refused = await failureOf(set({ domains: ['acme.example', added] }, 'acme', bound));
      expect(refused).toMatchObject({
        kind: 'permission_denied',
        message: `oidc_domains: ${added} would be new, and an operator that is bound to organizations can only keep or remove domains. Ask an admin or manager who isn't bound to add it.`,
      });
    }
    expect(await set({ domains: ['acme.example'] }, 'acme', bound)).toMatchObject({ domains: ['acme.example'] });
    expect(await failureOf(set(kept, 'acme', bound))).toMatchObject({ kind: 'permission_denied' });
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
