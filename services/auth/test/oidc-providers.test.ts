import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { OidcProviderSettings } from '@crs/proto/crs/auth/v1/admin';
import type { CallOptions } from '@crs/kit/rpc/client';
import { parseSecrets } from '@crs/kit/process/secrets';
import { SECRET } from '@crs/testing/setup';
import { tenant } from '@crs/testing/world';
import { createEncrypters } from '../src/keys/encrypters.ts';
import { ADMIN, ANN, failureOf, organization, peopleAndProjects, sharedAuthWorld, type SharedAuthWorld } from './_fixtures.ts';

const TENANTS = [tenant('acme'), tenant('globex')] as const;
const [ACME, GLOBEX] = TENANTS;
const [NEW, THIRD] = [tenant('new'), tenant('third')];

let world: SharedAuthWorld;
beforeAll(async () => {
  world = await sharedAuthWorld(peopleAndProjects(TENANTS));
});

const NOTHING = {
  name: undefined,
  writeSurface: undefined,
  anonymizeInterviewees: undefined,
  allowedFields: undefined,
  rateLimit: undefined,
  toolRateLimit: undefined,
  deleteLimit: undefined,
  assertionIssuers: undefined,
};
const set = async (oidcProvider: Partial<OidcProviderSettings>, organizationId: string = ACME, by?: CallOptions) => {
  const settings = { ...NOTHING, oidcProvider: { domains: [], ...oidcProvider } };
  const { organization } = await world.operator.auth.updateOrganization(
    { settings },
    by ?? (await world.operate(organizationId)),
  );
  return organization!.oidcProvider;
};
const storedSecret = async (organizationId: string = ACME) => {
  const [row] = await world.rows<{ encrypted: Buffer | null }>(
    'select oidc_client_secret_encrypted as encrypted from auth.organizations where organization = $1',
    [organizationId],
  );
  return (
    row!.encrypted && createEncrypters(parseSecrets(SECRET)).organizations.decrypt(row!.encrypted, organizationId).toString()
  );
};
const shownOf = async (organizationId: string) => {
  const { organization } = await world.operator.auth.getOrganization({}, await world.operate(organizationId));
  return organization!.oidcProvider;
};
/** A domain that this file alone uses. */
const domain = (name: string) => `${name}.${ACME}.example`;
const [OF_ACME, OF_GLOBEX] = [domain('acme'), domain('globex')];
const WHOLE = { issuer: 'https://idp.example', clientId: 'crs', clientSecret: 'hush-hush', domains: [OF_ACME] };
const SHOWN = {
  issuer: 'https://idp.example',
  clientId: 'crs',
  hasClientSecret: true,
  domains: [OF_ACME],
  emailProof: 'claim',
};

beforeEach(async () => {
  for (const each of TENANTS) await set({ issuer: '' }, each);
});

describe("an organization's OpenID provider", () => {
  it('is absent at first', async () => {
    expect([await shownOf(ACME), await shownOf(GLOBEX)]).toEqual([undefined, undefined]);
  });

  it('is set, shown without its secret, and removed as a whole', async () => {
    expect(await set(WHOLE)).toEqual(SHOWN);
    const { organizations } = await world.operator.auth.listOrganizations({}, await world.operate());
    const listed = TENANTS.map((id) => organizations.find(({ organizationId }) => organizationId === id)?.oidcProvider);
    expect(listed).toEqual([SHOWN, undefined]);
    expect(await storedSecret()).toBe('hush-hush');
    expect(await set({ issuer: '' })).toBeUndefined();
    expect(await storedSecret()).toBeNull();
  });

  it('can be set when an organization is created', async () => {
    const settings = { ...NOTHING, name: 'New', oidcProvider: { ...WHOLE, domains: [domain('new')] } };
    const { organization } = await world.operator.auth.createOrganization({ settings }, await world.operate(NEW));
    expect(organization!.oidcProvider).toEqual({ ...SHOWN, domains: [domain('new')] });
    expect(await storedSecret(NEW)).toBe('hush-hush');
  });

  it('keeps omitted fields', async () => {
    await set(WHOLE);
    expect(await set({ domains: [domain('b').toUpperCase(), domain('a'), domain('b')] })).toEqual({
      ...SHOWN,
      domains: [domain('a'), domain('b')],
    });
    expect(await set({ issuer: 'https://idp.example/' })).toMatchObject({ issuer: 'https://idp.example', hasClientSecret: true });
    expect(await storedSecret()).toBe('hush-hush');
    expect(await set({ clientSecret: 'another' })).toMatchObject({ hasClientSecret: true });
    expect(await storedSecret()).toBe('another');
    expect(await set({ clientSecret: '' })).toMatchObject({ hasClientSecret: false });
  });

  it('does not keep the secret if its issuer or client id changes', async () => {
    await set(WHOLE);
    expect(await failureOf(set({ issuer: 'https://other.example' }))).toMatchObject({ field: 'oidc_client_id' });
    expect(await set({ issuer: 'https://other.example', clientId: 'crs' })).toMatchObject({
      hasClientSecret: false,
      domains: [OF_ACME],
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
    ['oidc_domains', { domains: [OF_ACME, `*.${OF_ACME}`] }],
    ['oidc_domains', { domains: [`ann@${OF_ACME}`] }],
    ['oidc_domains', { domains: [''] }],
  ])('is refused for a bad %s (%#)', async (field, settings) => {
    expect(await failureOf(set({ ...WHOLE, ...settings }))).toMatchObject({ kind: 'invalid_argument', field });
    expect(await storedSecret()).toBeNull();
  });

  it('is recorded in the audit trail, without its secret', async () => {
    await set(WHOLE);
    await set({ issuer: '' });
    const trail = await world.rows<{ entry: string }>(
      `select concat_ws(' ', actor, action, target) as entry from auth.audit where organization = $1 order by audit_id desc limit 4`,
      [ACME],
    );
    expect(trail.map(({ entry }) => entry).toReversed()).toEqual([
      `local organization.update ${ACME}`,
      `local organization.oidc ${ACME} https://idp.example`,
      `local organization.update ${ACME}`,
      `local organization.oidc ${ACME} none`,
    ]);
    expect(world.log.join('')).not.toContain('hush-hush');
  });
});

describe('an e-mail domain', () => {
  const owners = async () => {
    const text = `select domain || ' ' || organization as owned from auth.domain_directory where organization = any($1) order by 1`;
    return (await world.rows<{ owned: string }>(text, [TENANTS])).map(({ owned }) => owned);
  };
  const operatorToken = async (rights: Partial<typeof ADMIN>) => {
    const { credential } = await world.operator.auth.createOperator(
      { ...ADMIN, name: `operator ${crypto.randomUUID()}`, role: 'manager', ...rights },
      await world.operate(),
    );
    const { operatorToken: token } = await world.operator.auth.issueOperatorToken({ credential, organizationId: ACME });
    return { token };
  };
  const TAKEN = {
    kind: 'already_exists',
    field: 'oidc_domains',
    message: `oidc_domains: ${OF_ACME} belongs to the organization ${ACME}. To move it, remove it there first: "org update ${ACME} --oidc-domains" with the other domains, or "--oidc-issuer none".`,
  };

  it('belongs to one organization: a second one, existing or new, is refused as a whole', async () => {
    await set(WHOLE);
    const wanted = { ...WHOLE, domains: [OF_ACME, OF_GLOBEX] };
    expect(await failureOf(set(wanted, GLOBEX))).toMatchObject(TAKEN);
    const settings = { ...NOTHING, name: 'Third', oidcProvider: wanted };
    const created = world.operator.auth.createOrganization({ settings }, await world.operate(THIRD));
    expect(await failureOf(created)).toMatchObject(TAKEN);
    expect(await shownOf(GLOBEX)).toBeUndefined();
    expect(await world.rows('select 1 from auth.organizations where organization = $1', [THIRD])).toEqual([]);
    expect(await owners()).toEqual([`${OF_ACME} ${ACME}`]);
  });

  it('goes to exactly one of two organizations that claim it at the same time', async () => {
    for (let round = 0; round < 5; round++) {
      const domains = ['a', 'b', 'c'].map((name) => domain(`${name}${round}`));
      const claims = [set({ ...WHOLE, domains }), set({ ...WHOLE, domains: domains.toReversed() }, GLOBEX)];
      const failures = await Promise.all(claims.map(failureOf));
      expect(failures.filter((failure) => failure !== undefined)).toMatchObject([{ kind: 'already_exists' }]);
      const winner = failures[0] ? GLOBEX : ACME;
      expect(await owners()).toEqual(domains.map((each) => `${each} ${winner}`));
      for (const each of TENANTS) await set({ issuer: '' }, each);
    }
  });

  it('is free again once its organization gives it up, has no provider, or is deleted', async () => {
    const claim = { ...WHOLE, domains: [domain('one')] };
    await set({ ...WHOLE, domains: [domain('one'), domain('two')] });
    await set({ domains: [domain('two')] });
    expect(await set(claim, GLOBEX)).toMatchObject({ domains: [domain('one')] });
    await set({ issuer: '' }, GLOBEX);
    expect(await set({ domains: [domain('one'), domain('two')] })).toMatchObject({ domains: [domain('one'), domain('two')] });
    await set({ issuer: '' });

    const passing = tenant('passing');
    await world.load([organization(passing)]);
    await set(claim, passing);
    const target = { target: { $case: 'organization' as const, value: true } };
    await world.auth.beginErasure({ target, check: false }, await world.operate(passing));
    expect(await failureOf(set(claim))).toMatchObject({ kind: 'already_exists' });
    await world.operator.auth.finishErasure({ target }, await world.operate(passing));
    expect(await set(claim)).toMatchObject({ domains: [domain('one')] });
  });

  it('can be kept and removed, but not added, by an operator who is bound to organizations', async () => {
    const unbound = await operatorToken({});
    const bound = await operatorToken({ organizationIds: [ACME] });
    await set({ ...WHOLE, domains: [OF_GLOBEX] }, GLOBEX);
    const first = await failureOf(set(WHOLE, ACME, bound));
    expect(first).toMatchObject({ kind: 'permission_denied', reason: 'OPERATOR_BOUND', field: 'oidc_domains' });
    await set({ ...WHOLE, domains: [OF_ACME, domain('b')] }, ACME, unbound);

    const kept = { domains: [OF_ACME, domain('b')] };
    expect(await set({ ...WHOLE, issuer: 'https://other.example', ...kept }, ACME, bound)).toMatchObject(kept);
    expect(await set({ clientId: 'crs', domains: [] }, ACME, bound)).toMatchObject(kept);
    // A domain of another organization is refused like a free one, so a bound operator doesn't learn whose it is.
    for (const added of [OF_GLOBEX, domain('free')]) {
      const refused = await failureOf(set({ domains: [OF_ACME, added] }, ACME, bound));
      expect(refused).toMatchObject({
        kind: 'permission_denied',
        message: `oidc_domains: ${added} would be new, and an operator that is bound to organizations can only keep or remove domains. Ask an admin or manager who isn't bound to add it.`,
      });
    }
    expect(await set({ domains: [OF_ACME] }, ACME, bound)).toMatchObject({ domains: [OF_ACME] });
    expect(await failureOf(set(kept, ACME, bound))).toMatchObject({ kind: 'permission_denied' });
  });
});

describe('the linked provider accounts of a user', () => {
  const accounts = (organizationId: string) =>
    world.rows(`select issuer, subject from auth.user_identities where organization = $1`, [organizationId]);

  it('can be removed by an operator, for that user alone', async () => {
    await world.rows(
      `insert into auth.user_identities (organization, issuer, subject, user_id)
        select organization, 'https://idp.example', email, user_id from auth.users where organization = any($1)`,
      [TENANTS],
    );
    await world.operator.auth.unlinkUser({ email: ANN.toUpperCase() }, await world.operate(ACME));
    expect(await accounts(ACME)).toEqual([{ issuer: 'https://idp.example', subject: 'bob@example.com' }]);
    expect(await accounts(GLOBEX)).toHaveLength(2);
    const nobody = world.operator.auth.unlinkUser({ email: 'nobody@example.com' }, await world.operate(ACME));
    expect((await failureOf(nobody))?.kind).toBe('not_found');
  });

  it('are deleted with the user', async () => {
    const target = { target: { $case: 'email' as const, value: ANN } };
    await world.auth.beginErasure({ target, check: false }, await world.operate(GLOBEX));
    await world.operator.auth.finishErasure({ target }, await world.operate(GLOBEX));
    expect(await accounts(GLOBEX)).toEqual([{ issuer: 'https://idp.example', subject: 'bob@example.com' }]);
  });
});
