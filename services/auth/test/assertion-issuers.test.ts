import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { CallOptions } from '@crs/kit/rpc/client';
import type { OrganizationSettings } from '@crs/proto/crs/auth/v1/admin';
import { tenant } from '@crs/testing/world';
import { ADMIN, failureOf, organization, peopleAndProjects, sharedAuthWorld, type SharedAuthWorld } from './_fixtures.ts';

const TENANTS = [tenant('acme'), tenant('globex')] as const;
const [ACME, GLOBEX] = TENANTS;
const NEW = tenant('new');

let world: SharedAuthWorld;
beforeAll(async () => {
  world = await sharedAuthWorld(peopleAndProjects(TENANTS));
});

const ABSENT = {
  name: undefined,
  writeSurface: undefined,
  anonymizeInterviewees: undefined,
  allowedFields: undefined,
  rateLimit: undefined,
  toolRateLimit: undefined,
  oidcProvider: undefined,
  assertionIssuers: undefined,
};
const providerOf = (id: string) => ({
  issuer: `https://login.${id}.example`,
  clientId: 'crs',
  clientSecret: undefined,
  domains: [`issuers.${id}.example`],
  emailProof: undefined,
});
const NO_PROVIDER = { ...providerOf(ACME), issuer: '', clientId: undefined, domains: [] };
const update = async (id: string, settings: Partial<OrganizationSettings>, by?: CallOptions) => {
  const { organization: updated } = await world.operator.auth.updateOrganization(
    { settings: { ...ABSENT, ...settings } },
    by ?? (await world.operate(id)),
  );
  return updated!.assertionIssuers;
};
const list = (id: string, issuers: string[], by?: CallOptions) => update(id, { assertionIssuers: { issuers } }, by);
/** An issuer that this file alone lists. */
const url = (name: string) => `https://${name}.${ACME}.example`;

beforeEach(async () => {
  for (const id of TENANTS) await update(id, { oidcProvider: providerOf(id), assertionIssuers: { issuers: [] } });
});

describe("an organization's list of assertion issuers", () => {
  it('is normalized and sorted, shown, recorded, kept if it is omitted, and emptied', async () => {
    expect(await list(ACME, [`${url('b')}/`, url('A'), url('b'), `${url('c')}/realms/x`])).toEqual([
      url('a'),
      url('b'),
      `${url('c')}/realms/x`,
    ]);
    const [entry] = await world.rows<{ changes: object }>(
      `select changes from auth.audit where organization = $1 and action = 'organization.update' order by audit_id desc limit 1`,
      [ACME],
    );
    expect(entry!.changes).toEqual({ assertion_issuers: { from: [], to: [url('a'), url('b'), `${url('c')}/realms/x`] } });
    expect(await update(ACME, { name: 'Acme' })).toHaveLength(3);
    const { organizations } = await world.operator.auth.listOrganizations({}, await world.operate());
    expect(organizations.find(({ organizationId }) => organizationId === GLOBEX)!.assertionIssuers).toEqual([]);
    expect(await list(ACME, [])).toEqual([]);
  });

  it('has at most ten issuers', async () => {
    const issuers = Array.from({ length: 10 }, (_, n) => url(`i${n}`));
    expect(await list(ACME, issuers)).toHaveLength(10);
    expect(await failureOf(list(ACME, [...issuers, url('i10')]))).toMatchObject({
      kind: 'invalid_argument',
      field: 'assertion_issuers',
    });
  });

  it.each([
    'http://idp.example',
    'https://me:secret@idp.example',
    'https://idp.example?x=1',
    'https://idp.example#x',
    'idp.example',
    '',
    'https://login.microsoftonline.com/common/v2.0',
    'https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0',
  ])('does not admit %j', async (issuer) => {
    expect(await failureOf(list(ACME, [issuer]))).toMatchObject({ kind: 'invalid_argument', field: 'assertion_issuers' });
  });

  it('needs an OpenID provider, which cannot be removed alone', async () => {
    await list(ACME, [url('a')]);
    expect(await failureOf(update(ACME, { oidcProvider: NO_PROVIDER }))).toMatchObject({
      kind: 'failed_precondition',
      field: 'assertion_issuers',
      message:
        'assertion_issuers: need an OpenID provider, whose domains bound the e-mails of assertions: to remove the provider, add --assertion-issuers none.',
    });
    expect(await update(ACME, { oidcProvider: NO_PROVIDER, assertionIssuers: { issuers: [] } })).toEqual([]);
    expect(await failureOf(list(ACME, [url('a')]))).toMatchObject({
      kind: 'failed_precondition',
      message: expect.stringContaining('set --oidc-issuer, --oidc-client-id and --oidc-domains'),
    });
    expect(await update(ACME, { oidcProvider: providerOf(ACME), assertionIssuers: { issuers: [url('a')] } })).toHaveLength(1);
  });

  it('can be kept and shortened, but not extended, by an operator who is bound to organizations', async () => {
    await list(ACME, [url('a'), url('b')]);
    const rights = { ...ADMIN, name: `operator ${crypto.randomUUID()}`, role: 'manager', organizationIds: [ACME] };
    const { credential } = await world.operator.auth.createOperator(rights, await world.operate());
    const { operatorToken: token } = await world.operator.auth.issueOperatorToken({ credential, organizationId: ACME });
    // The error doesn't tell whether another organization lists it.
    await list(GLOBEX, [url('c')]);
    for (const issuer of [url('c'), url('d')])
      expect(await failureOf(list(ACME, [url('a'), issuer], { token }))).toMatchObject({
        kind: 'permission_denied',
        reason: 'OPERATOR_BOUND',
        message: expect.stringContaining(`${issuer} would be new`),
      });
    expect(await list(ACME, [url('a')], { token })).toEqual([url('a')]);
  });
});

describe('an assertion issuer', () => {
  const taken = { kind: 'already_exists', field: 'assertion_issuers' };

  it('belongs to one organization, until that removes it or is deleted', async () => {
    await list(ACME, [url('a')]);
    expect(await failureOf(list(GLOBEX, [url('b'), url('a')]))).toMatchObject({
      ...taken,
      message: `assertion_issuers: ${url('a')} belongs to the organization ${ACME}. To move it, remove it there first: "org update ${ACME} --assertion-issuers" with the other issuers, or none.`,
    });
    await list(ACME, []);
    expect(await list(GLOBEX, [url('a')])).toEqual([url('a')]);
    await list(GLOBEX, []);

    await world.load([organization(NEW)]);
    await update(NEW, { oidcProvider: providerOf(NEW), assertionIssuers: { issuers: [url('a')] } });
    expect(await failureOf(list(ACME, [url('a')]))).toMatchObject(taken);
    const target = { target: { $case: 'organization', value: true } } as const;
    await world.auth.beginErasure({ target, check: false }, await world.operate(NEW));
    await world.operator.auth.finishErasure({ target }, await world.operate(NEW));
    expect(await list(ACME, [url('a')])).toEqual([url('a')]);
  });

  it('goes to one of two organizations that list it at the same time', async () => {
    const outcomes = await Promise.all(TENANTS.map((id) => failureOf(list(id, [url('a')]))));
    expect(outcomes.filter((outcome) => outcome === undefined)).toHaveLength(1);
    expect(outcomes.find((outcome) => outcome !== undefined)).toMatchObject(taken);
  });
});
