import { decodeJwt } from 'jose';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { BOB, ANN, TENANTS } from './_fixtures.ts';
import { ANN_OF_GLOBEX, DOMAINS, EMAILS, JWT_BEARER, sharedManaged, type ClaimChange, type ManagedWorld } from './_managed.ts';
import { RESOURCE } from './_sign-in.ts';

let world: ManagedWorld;
beforeAll(async () => {
  world = await sharedManaged();
});
beforeEach(() => world.reset());

const grantsOf = async (tenant: string) => {
  const { tokens } = await world.operator.auth.listTokens({}, await world.operate(tenant));
  return tokens.map(({ kind, client, email, scopes, revokedAt }) => ({ kind, client, email, scopes, isRevoked: !!revokedAt }));
};
const accessTokenOf = async (...args: Parameters<ManagedWorld['exchange']>) => {
  const { status, body } = await world.exchange(...args);
  expect(body).toHaveProperty('access_token');
  expect(status).toBe(200);
  return body['access_token']!;
};

describe('an identity assertion', () => {
  it('is exchanged for a token that auth accepts, without a refresh token', async () => {
    const { status, body } = await world.exchange('acme');
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        access_token: expect.any(String),
        token_type: 'Bearer',
        expires_in: 3_600,
        scope: 'calls:read projects:read',
        resource: RESOURCE,
      },
    });
    const { clientId } = world.client;
    expect(await world.whoIs(body['access_token']!)).toEqual({
      organization: 'acme',
      email: ANN,
      scopes: ['calls:read', 'projects:read'],
      clientId,
    });
    const { exp, iat } = decodeJwt(body['access_token']!);
    expect(exp! - iat!).toBe(3_600);
    const [grant] = await world.rows<{ covers: boolean }>('select expires_at >= to_timestamp($1) as covers from auth.grants', [
      exp,
    ]);
    expect(grant!.covers).toBe(true);
  });

  it('names users of its own organization only: the same subject is another user in another one', async () => {
    for (const tenant of TENANTS)
      expect(await world.whoIs(await accessTokenOf(tenant))).toMatchObject({ organization: tenant, email: EMAILS[tenant] });
    // Ann of example.com exists in globex too, but that domain is acme's.
    expect((await world.exchange('globex', { claims: { sub: 'ann-2', email: ANN } })).status).toBe(400);
    expect((await world.exchange('acme', { claims: { sub: 'ann-2', email: ANN_OF_GLOBEX } })).status).toBe(400);
  });

  it('is also accepted from a client with a metadata document, and shown under its name', async () => {
    const accessToken = await accessTokenOf('acme', { client: world.documentClient });
    expect(await world.whoIs(accessToken)).toMatchObject({ email: ANN, clientId: world.documentClient.clientId });
    expect(await grantsOf('acme')).toMatchObject([{ kind: 'managed', client: 'Published assistant' }]);
  });

  it.each<[string, ClaimChange]>([
    ['a list of one resource and of one audience', { aud: [new URL(RESOURCE).origin], resource: [RESOURCE] }],
    ['no resource', { resource: undefined }],
    ['an age of almost five minutes', (now: number) => ({ iat: now - 290 })],
    ['a clock that is a little ahead', (now: number) => ({ iat: now + 20 })],
    ['a verified e-mail', { email_verified: true }],
    ['a subject of 255 characters', { sub: 'x'.repeat(255) }],
  ])('may have %s', async (_, claims) => {
    await accessTokenOf('acme', { claims });
  });

  it('may have 8,192 characters', async () => {
    const sign = (length: number) => world.issuers.acme.sign(world.claims('acme', { more: 'x'.repeat(length) }));
    const longest = Math.floor(((8_192 - (await sign(0)).length) * 3) / 4);
    const [assertion, longer] = [await sign(longest), await sign(longest + 3)];
    expect([assertion.length <= 8_192, longer.length > 8_192]).toEqual([true, true]);
    expect((await world.send(assertion)).status).toBe(200);
    expect((await world.send(longer)).status).toBe(400);
  });

  it.each([
    [undefined, undefined, 'calls:read projects:read entities:read'],
    [undefined, 'entities:read other', 'entities:read'],
    ['calls:read other entities:read', undefined, 'calls:read entities:read'],
    ['calls:read entities:read', 'projects:read entities:read', 'entities:read'],
  ])('of the scope %s gives a request of %s the scope %s', async (scope, requested, given) => {
    const { body } = await world.exchange('acme', { claims: { scope }, ...(requested && { more: { scope: requested } }) });
    expect(body['scope']).toBe(given);
  });

  it('links the user at first, and names them by its subject later', async () => {
    await accessTokenOf('acme');
    const renamed = await accessTokenOf('acme', { claims: { email: BOB, email_verified: false } });
    expect(await world.whoIs(renamed)).toMatchObject({ email: ANN });
    expect((await world.trail())[0]).toBe(`acme ${ANN} identity.link ann-1 at ${world.issuers.acme.issuer} done 1`);
  });

  it('gives a token that lives no longer than other tokens of the installation', async () => {
    expect((await world.exchange('acme', { at: world.replica() })).body).toMatchObject({ expires_in: 600 });
  });

  it('names its issuer exactly as the metadata does, even if that ends in a slash', async () => {
    const { third, issuers } = world;
    await world.update('acme', { assertionIssuers: { issuers: [issuers.acme.issuer, `${third.issuer}/`] } });
    third.metadata = { issuer: `${third.issuer}/` };
    const send = async (iss: string) => (await world.send(await third.sign(world.claims('acme', { iss })))).body;
    expect(await send(`${third.issuer}/`)).toHaveProperty('access_token');
    expect(await send(third.issuer)).toMatchObject({ error_description: 'the assertion is refused: wrong issuer' });
    third.metadata = {};
  });

  it('may be of any listed issuer, and signed with a new key once a minute', async () => {
    const { second, issuers } = world;
    await world.update('globex', { assertionIssuers: { issuers: [issuers.globex.issuer, second.issuer] } });
    const send = async () => world.send(await second.sign(world.claims('globex', { iss: second.issuer })));
    expect((await send()).status).toBe(200);
    await second.rotate();
    expect((await send()).status).toBe(200);
    await second.rotate();
    const before = second.requestedPaths.length;
    // Anybody can name an unknown key, so only the first one of a minute makes auth fetch the keys again.
    for (let n = 0; n < 3; n++) expect((await send()).status).toBe(400);
    expect(second.requestedPaths).toHaveLength(before);
    await accessTokenOf('globex');
  });
});

describe('a managed grant', () => {
  const created = (tenant: 'acme' | 'globex') =>
    expect.stringMatching(
      `^${tenant} ${EMAILS[tenant]} connection.create grant_\\w+ Enterprise assistant by ${world.issuers[tenant].issuer} done 1$`,
    );

  it('is one for a user and client, and recorded only when it begins', async () => {
    for (const tenant of TENANTS) for (let n = 0; n < 2; n++) await accessTokenOf(tenant);
    const entries = (await world.trail()).filter((entry) => entry.includes('connection.'));
    expect(entries).toEqual([created('acme'), created('globex')]);
    for (const tenant of TENANTS)
      expect(await grantsOf(tenant)).toEqual([
        {
          kind: 'managed',
          client: 'Enterprise assistant',
          email: EMAILS[tenant],
          scopes: ['calls:read', 'projects:read'],
          isRevoked: false,
        },
      ]);
    await accessTokenOf('acme', { client: world.documentClient });
    await accessTokenOf('acme', { claims: { sub: 'bob-1', email: BOB } });
    expect(await grantsOf('acme')).toHaveLength(3);
  });

  it('is one even if two assertions come at the same time', async () => {
    const tokens = await Promise.all([accessTokenOf('acme'), accessTokenOf('acme', { at: world.replica() })]);
    expect(await Promise.all(tokens.map((each) => world.isLive(each)))).toEqual([true, true]);
    expect(await grantsOf('acme')).toHaveLength(1);
  });

  it('comes back after a revocation with the next assertion, but its earlier tokens do not', async () => {
    const [acme, globex] = [await accessTokenOf('acme'), await accessTokenOf('globex')];
    const tokenId = String(decodeJwt(acme)['grant_id']);
    await world.operator.auth.revokeToken({ tokenId }, await world.operate('acme'));
    expect(await world.isLive(acme)).toBe(false);
    const next = await accessTokenOf('acme');
    expect(await Promise.all([acme, globex, next].map((each) => world.isLive(each)))).toEqual([false, true, true]);
    expect(await grantsOf('acme')).toMatchObject([{ isRevoked: false }]);
    expect((await world.trail()).filter((entry) => entry.includes('connection.create'))).toHaveLength(3);
  });

  it('ends for a disabled user', async () => {
    const accessToken = await accessTokenOf('acme');
    await world.operator.auth.setUserDisabled({ email: ANN, disabled: true }, await world.operate('acme'));
    expect(await world.isLive(accessToken)).toBe(false);
    expect((await world.exchange('acme')).status).toBe(400);
    await world.operator.auth.setUserDisabled({ email: ANN, disabled: false }, await world.operate('acme'));
  });

  it.each([
    ['its issuer', { assertionIssuers: { issuers: ['https://other.example'] } }],
    [
      'the provider',
      {
        assertionIssuers: { issuers: [] },
        oidcProvider: { issuer: '', clientId: undefined, clientSecret: undefined, domains: [], emailProof: undefined },
      },
    ],
  ])('ends with %s, in its own organization only', async (_, settings) => {
    const [acme, globex] = [await accessTokenOf('acme'), await accessTokenOf('globex')];
    await world.update('acme', settings);
    expect([await world.isLive(acme), await world.isLive(globex)]).toEqual([false, true]);
    expect((await world.exchange('acme')).body).toMatchObject({ error: 'invalid_grant' });
    await accessTokenOf('globex');
  });

  it('does not begin while its issuer is being removed', async () => {
    await accessTokenOf('acme');
    const removal = `update auth.organizations set assertion_issuers = '{}' where organization = 'acme'`;
    const { status } = await world.meanwhile(removal, () => world.exchange('acme'));
    expect(status).toBe(400);
  });

  it('stays if issuers are added or domains change', async () => {
    const accessToken = await accessTokenOf('acme');
    await world.update('acme', { assertionIssuers: { issuers: [world.issuers.acme.issuer, 'https://other.example'] } });
    const provider = { issuer: undefined, clientId: undefined, clientSecret: undefined, emailProof: undefined };
    await world.update('acme', { oidcProvider: { ...provider, domains: [...DOMAINS.acme, 'acme.example'] } });
    expect(await world.isLive(accessToken)).toBe(true);
  });
});

it('the metadata of the authorization server names the grant and its profile', async () => {
  const metadata = JSON.parse((await world.browser().send('/.well-known/oauth-authorization-server')).text);
  expect(metadata).toMatchObject({
    grant_types_supported: expect.arrayContaining([JWT_BEARER]),
    authorization_grant_profiles_supported: ['urn:ietf:params:oauth:grant-profile:id-jag'],
  });
});
