import { beforeAll, describe, expect, it } from 'vitest';
import { createApiKey } from '@crs/kit/api-key';
import { runCrs } from '@crs/testing/run-crs';
import { tenant } from '@crs/testing/world';
import { applier, sha256 } from './_apply.ts';
import { ADMIN, ALPHA, ANN, failureOf, peopleAndProjects, sharedAuthWorld, type SharedAuthWorld } from './_fixtures.ts';

const [ACME, GLOBEX, NEW] = [tenant('acme'), tenant('globex'), tenant('new')];

let world: SharedAuthWorld;
beforeAll(async () => {
  world = await sharedAuthWorld(peopleAndProjects([ACME, GLOBEX]));
});

const { apply, changes, exported } = applier(() => world);
const unusable = (field: string) => ({ kind: 'failed_precondition', field, message: expect.stringContaining('Use another') });

describe('a digest', () => {
  it("of another organization's key is refused without saying whose it is, and that key stays", async () => {
    const secret = createApiKey();
    await apply({ id: GLOBEX, keys: [{ sha256: sha256(secret) }], scim_tokens: [{ sha256: sha256(`${secret} for SCIM`) }] });
    for (const options of [{ plan: true }, {}]) {
      const key = await failureOf(apply({ id: ACME, keys: [{ sha256: sha256(secret) }] }, options));
      expect(key).toMatchObject(unusable('keys[0].sha256'));
      expect(key!.message).not.toContain(GLOBEX);
      const token = await failureOf(apply({ id: ACME, scim_tokens: [{ sha256: sha256(`${secret} for SCIM`) }] }, options));
      expect(token).toMatchObject(unusable('scim_tokens[0].sha256'));
      expect(token!.message).not.toContain(GLOBEX);
    }
    expect((await world.auth.authenticateKey({ apiKey: secret, audiences: ['calls'] })).organizationId).toBe(GLOBEX);
    expect((await exported(ACME)).keys).toEqual([]);
  });

  it('of a key with other rights, or of a revoked one, is refused in the same words', async () => {
    const [live, revoked] = [sha256('a live key'), sha256('a revoked key')].map((digest) => ({
      sha256: `${digest.slice(8)}${ACME.slice(-8)}`,
    }));
    await apply({ id: ACME, keys: [{ ...live, rights: ['read'] }, revoked!] });
    await apply({ id: ACME, keys: [live!] }, { prune: true });
    await apply({ id: GLOBEX, keys: [{ sha256: sha256(GLOBEX) }] });
    const refusals = await Promise.all(
      [{ ...live, rights: ['read', 'write'] }, revoked, { sha256: sha256(GLOBEX) }].map((key) =>
        failureOf(apply({ id: ACME, keys: [key!] })),
      ),
    );
    expect(refusals[0]).toMatchObject(unusable('keys[0].sha256'));
    expect(refusals[1]).toEqual(refusals[0]);
    expect(refusals[2]).toEqual(refusals[0]);
  });

  it('that two organizations apply at the same time goes to one of them', async () => {
    const state = (id: string) => ({ id, keys: [{ sha256: sha256(`${ACME} and ${GLOBEX}`) }] });
    const outcomes = await Promise.all([ACME, GLOBEX].map((id) => failureOf(apply(state(id)))));
    expect(outcomes.filter((failure) => failure === undefined)).toHaveLength(1);
    expect(outcomes.find((failure) => failure !== undefined)).toMatchObject(unusable('keys[0].sha256'));
  });
});

describe('a refused state', () => {
  it('changes nothing, though other parts of it are good', async () => {
    const before = await exported(ACME);
    const good = { id: ACME, name: 'Never', keys: [{ sha256: sha256('never') }], users: [{ email: ANN, disabled: true }] };
    const domain = `${GLOBEX}.example`;
    await apply({ id: GLOBEX, oidc: { issuer: 'https://idp.example', client_id: 'c', domains: [domain] } });
    const oidc = { issuer: 'https://idp.example', client_id: 'c', domains: [domain] };
    expect(await failureOf(apply({ ...good, oidc }))).toMatchObject({ kind: 'already_exists', field: 'oidc.domains' });
    expect(await exported(ACME)).toEqual(before);
    expect(await world.rows('select 1 from auth.users where organization = $1 and disabled_at is not null', [ACME])).toEqual([]);
  });

  it.each([
    [{ keys: [{ sha256: 'ab' }] }, 'keys[0].sha256'],
    [{ keys: [{ sha256: sha256('x') }, { sha256: sha256('x').toUpperCase() }] }, 'keys[1].sha256'],
    [
      { keys: [{ sha256: sha256('x') }], scim_tokens: [{ sha256: sha256('y') }, { sha256: sha256('x') }] },
      'scim_tokens[1].sha256',
    ],
    [{ keys: [{ sha256: sha256('x'), rights: [] }] }, 'keys[0].rights'],
    [{ keys: [{ sha256: sha256('x'), networks: ['10.0.0.1/8'] }] }, 'keys[0].networks[0]'],
    [{ users: [{ email: 'a@b' }, { email: 'A@B' }] }, 'users[1].email'],
    [{ group_maps: [1, 2].map(() => ({ group: 'g', project_id: ALPHA, role: 'lead' })) }, 'group_maps[1]'],
    [{ rate_limit: '600/99999' }, 'rate_limit.period_seconds'],
    [{ anonymize: true, anonymize_interviewees: true }, 'anonymize'],
    [{ oidc: { issuer: 'http://idp.example' } }, 'oidc.issuer'],
    [{ oidc: { issuer: 'https://login.microsoftonline.com/common/v2.0' } }, 'oidc.issuer'],
    [{ oidc: { client_id: 'c' } }, 'oidc.issuer'],
    [{ oidc: { issuer: 'https://idp.example', client_id: 'c' } }, 'oidc.domains'],
    [{ oidc: { issuer: 'https://idp.example', client_secret_file: 'x' } }, 'oidc.client_secret_file'],
    [{ assertion_issuers: ['https://a.example'] }, 'assertion_issuers'],
    [{ color: 'red' }, 'color'],
  ])('names the field: %j', async (part, field) => {
    expect(await failureOf(apply({ id: NEW, ...part }))).toMatchObject({ field });
  });

  it('may be another organization than the token names, or no object at all', async () => {
    const by = await world.operate(ACME);
    expect(await failureOf(apply({ id: GLOBEX }, { by }))).toMatchObject({ kind: 'invalid_argument', field: 'id' });
    const call = { oidcClientSecret: undefined, prune: false, plan: false, planId: '' };
    for (const text of ['', '[]', 'null', '{"id":']) {
      const refused = world.operator.auth.applyTenant({ ...call, stateJson: Buffer.from(text) }, by);
      expect(await failureOf(refused)).toMatchObject({ kind: 'invalid_argument', field: 'state' });
    }
  });
});

describe('an operator that is bound to organizations', () => {
  it('applies only those, creates none, and adds no domain and no issuer', async () => {
    const name = `${ACME} and ${NEW}`;
    await apply({ id: NEW });
    const bound = { ...ADMIN, name, role: 'manager', organizationIds: [ACME, NEW] };
    const { credential } = await world.operator.auth.createOperator(bound, await world.operate());
    await runCrs(world, ['org', 'delete', NEW, '--yes']);
    const issue = async (organizationId: string) => ({
      token: (await world.operator.auth.issueOperatorToken({ credential, organizationId })).operatorToken,
    });
    expect(await failureOf(issue(GLOBEX))).toMatchObject({ kind: 'permission_denied' });
    const by = await issue(ACME);
    expect(await changes({ id: ACME, name: 'By a bound operator' }, { by })).toHaveLength(1);
    const refused = { kind: 'permission_denied', reason: 'OPERATOR_BOUND' };
    for (const plan of [true, false]) {
      expect(await failureOf(apply({ id: NEW, name: 'x' }, { by: await issue(NEW), plan }))).toMatchObject({
        ...refused,
        field: 'id',
      });
      const oidc = { issuer: 'https://idp.example', client_id: 'c', domains: [`${ACME}.example`] };
      expect(await failureOf(apply({ id: ACME, oidc }, { by, plan }))).toMatchObject({ ...refused, field: 'oidc.domains' });
    }
  });
});

describe("a provider's client secret", () => {
  it('is stored encrypted, never shown, and reported as changed only if it differs', async () => {
    const oidc = { issuer: 'https://idp.example', client_id: 'c', client_secret_file: 's', domains: [`o.${ACME}.example`] };
    const secret = 'canary-of-a-client-secret';
    const first = await apply({ id: ACME, oidc }, { oidcClientSecret: secret });
    expect(first.changes[0]!.settings).toContainEqual({ setting: 'oidc_client_secret', from: 'null', to: 'null' });
    expect(await changes({ id: ACME, oidc }, { oidcClientSecret: secret })).toEqual([]);
    expect(await changes({ id: ACME, oidc: { domains: oidc.domains } })).toEqual([]);
    expect(await changes({ id: ACME, oidc }, { oidcClientSecret: 'another' })).toEqual([
      `~ organization ${ACME} oidc_client_secret: null -> null`,
    ]);
    const audit = await world.rows('select changes::text from auth.audit where organization = $1', [ACME]);
    expect(JSON.stringify([first, audit, await exported(ACME)]) + world.log.join('')).not.toContain(secret);
    expect(await changes({ id: ACME, oidc: 'none' })).toHaveLength(1);
    expect(await exported(ACME)).not.toHaveProperty('oidc');
  });
});
