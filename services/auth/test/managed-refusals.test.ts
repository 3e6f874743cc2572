import { exportJWK, generateKeyPair } from 'jose';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { TOOLS_URL } from '@crs/testing/world';
import { ANN, BOB } from './_fixtures.ts';
import { ANN_OF_GLOBEX, JWT_BEARER, sharedManaged, type ClaimChange, type ManagedWorld, type TestClient } from './_managed.ts';
import { register, RESOURCE } from './_sign-in.ts';

let world: ManagedWorld;
beforeAll(async () => {
  world = await sharedManaged();
});
beforeEach(() => world.reset());

const UNTRUSTED = 'the assertion must be an ID-JAG, signed with a published key of an issuer that an organization here lists';
const NO_USER = 'the assertion names no user who can be connected; the audit trail of the organization says why';
const because = (reason: string) => `the assertion is refused: ${reason}`;

const entry = (reason: string, outcome = 'unauthenticated') =>
  `acme sign-in connection.refuse ${reason} at ${world.issuers.acme.issuer} ${outcome} 1`;
const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
const nothingIsStored = async () => {
  expect(await world.rows('select 1 from auth.grants')).toEqual([]);
  expect(await world.rows('select 1 from auth.user_identities')).toEqual([]);
};
const send = async (assertion: string) => {
  const { status, body } = await world.send(assertion);
  return { status, ...body };
};

describe('an assertion whose signature is not that of its issuer', () => {
  const forgeries: Record<string, [string, () => Promise<string>]> = {
    'an id token': ['wrong type', () => world.issuers.acme.sign(world.claims('acme'), { header: { typ: 'JWT' } })],
    'an access token of its issuer': [
      'wrong type',
      () => world.issuers.acme.sign(world.claims('acme'), { header: { typ: 'at+jwt' } }),
    ],
    'no type': ['wrong type', () => world.issuers.acme.sign(world.claims('acme'), { header: { typ: undefined } })],
    'no signature': [
      'wrong algorithm',
      async () => `${encode({ alg: 'none', typ: 'oauth-id-jag+jwt' })}.${encode(world.claims('acme'))}.`,
    ],
    'the public key as its secret': [
      'wrong algorithm',
      () =>
        world.issuers.acme.sign(world.claims('acme'), {
          key: new TextEncoder().encode(world.issuers.acme.publicKey),
          header: { alg: 'HS256' },
        }),
    ],
    'an unknown key': ['unknown key', () => world.issuers.acme.sign(world.claims('acme'), { header: { kid: 'unknown' } })],
    'another key under a known id': [
      'invalid signature',
      async () => world.issuers.acme.sign(world.claims('acme'), { key: (await generateKeyPair('ES256')).privateKey }),
    ],
    'a key in its own header': [
      'unknown key',
      async () => {
        const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
        const header = { kid: 'own', jwk: await exportJWK(publicKey) };
        return world.issuers.acme.sign(world.claims('acme'), { key: privateKey, header });
      },
    ],
    "another organization's key": ['unknown key', () => world.issuers.globex.sign(world.claims('acme'))],
    'changed claims': [
      'invalid signature',
      async () =>
        (await world.issuers.acme.sign(world.claims('acme'))).replace(
          /\.[^.]+\./,
          `.${encode(world.claims('acme', { sub: 'bob-1', email: BOB }))}.`,
        ),
    ],
    'another header than the signed one': [
      'invalid signature',
      async () =>
        (await world.issuers.acme.sign(world.claims('acme'))).replace(
          /^[^.]+/,
          encode({ alg: 'ES256', typ: 'oauth-id-jag+jwt' }),
        ),
    ],
  };
  it.each(Object.entries(forgeries))('is refused for %s', async (_, [reason, forge]) => {
    expect(await send(await forge())).toEqual({ status: 400, error: 'invalid_grant', error_description: UNTRUSTED });
    expect(await world.trail()).toEqual([entry(reason)]);
    await nothingIsStored();
  });

  it('counts equal refusals of a minute in one entry', async () => {
    const forged = await forgeries['an id token']![1]();
    for (let n = 0; n < 3; n++) await send(forged);
    expect(await world.trail()).toEqual([entry('wrong type').replace(/1$/, '3')]);
  });
});

describe('an assertion of a listed issuer is refused', () => {
  const OTHER_CLIENT = 'issued to another client';
  it.each<[string, string, ClaimChange]>([
    ['another audience', 'wrong audience', { aud: 'https://elsewhere.example' }],
    ['the resource as its audience', 'wrong audience', { aud: RESOURCE }],
    ['two audiences', 'wrong audience', { aud: [TOOLS_URL, 'https://elsewhere.example'] }],
    ['our audience twice', 'wrong audience', { aud: [TOOLS_URL, TOOLS_URL] }],
    ['no audience', 'wrong audience', { aud: undefined }],
    ['another resource', 'wrong resource', { resource: TOOLS_URL }],
    ['two resources', 'wrong resource', { resource: [RESOURCE, 'https://elsewhere.example'] }],
    ['no client', OTHER_CLIENT, { client_id: undefined }],
    ['another client', OTHER_CLIENT, () => ({ client_id: world.documentClient.clientId })],
    ['no subject', 'no subject', { sub: undefined }],
    ['a long subject', 'no subject', { sub: 'x'.repeat(256) }],
    ['no jti', 'no jti', { jti: undefined }],
    ['a jti that is a number', 'no jti', { jti: 1 }],
    ['no iat', 'no times', { iat: undefined }],
    ['no exp', 'no times', { exp: undefined }],
    ['an exp that is text', 'no times', (now) => ({ exp: String(now + 60) })],
    ['an exp in the past', 'expired', (now) => ({ exp: now - 1 })],
    ['an age of over five minutes', 'too old', (now) => ({ iat: now - 301, exp: now + 60 })],
    ['an iat in the future', 'not valid yet', (now) => ({ iat: now + 60 })],
    ['an nbf in the future', 'not valid yet', (now) => ({ nbf: now + 60 })],
    ['a key that its bearer must prove', 'bound to a key', { cnf: { jkt: 'x' } }],
    ['details of its authorization', 'authorization details', { authorization_details: [{ type: 'call' }] }],
    ['a list of scopes', 'unreadable scope', { scope: ['calls:read'] }],
  ])('for %s', async (_, reason, claims) => {
    const { status, body } = await world.exchange('acme', { claims });
    expect({ status, body }).toEqual({
      status: 400,
      body: { error: 'invalid_grant', error_description: because(reason) },
    });
    expect(await world.trail()).toEqual([entry(reason)]);
    await nothingIsStored();
  });

  it.each<[string, string, object]>([
    ['an unknown user', 'unknown e-mail (x@example.com)', { email: 'x@example.com' }],
    ['a user of another domain', 'foreign domain (ann-1)', { email: ANN_OF_GLOBEX }],
    ['a domain that begins with a listed one', 'foreign domain (ann-1)', { email: 'ann@example.com.evil.test' }],
    ['no e-mail', 'unverified e-mail (ann-1: email is missing)', { email: undefined }],
    ['an unverified e-mail', 'unverified e-mail (ann-1: email_verified is not true)', { email_verified: false }],
    ['an e-mail whose verification is text', 'unverified e-mail (ann-1: email_verified is not true)', { email_verified: 'true' }],
  ])('for %s, without saying so', async (_, reason, claims) => {
    const { body } = await world.exchange('acme', { claims });
    expect(body).toEqual({ error: 'invalid_grant', error_description: NO_USER });
    expect(await world.trail()).toEqual([entry(reason)]);
    await nothingIsStored();
  });

  it('for a disabled user, linked or not, and a user who is linked to another subject', async () => {
    const disable = async (disabled: boolean) =>
      world.operator.auth.setUserDisabled({ email: ANN, disabled }, await world.operate('acme'));
    const refusals = async () => (await world.trail()).filter((each) => each.includes('connection.refuse'));
    await disable(true);
    expect((await world.exchange('acme')).body['error_description']).toBe(NO_USER);
    expect(await refusals()).toEqual([entry(`disabled user (${ANN})`)]);
    await disable(false);
    expect((await world.exchange('acme')).status).toBe(200);
    expect((await world.exchange('acme', { claims: { sub: 'ann-2' } })).body['error_description']).toBe(NO_USER);
    await disable(true);
    expect((await world.exchange('acme')).body['error_description']).toBe(NO_USER);
    expect(await refusals()).toEqual([
      entry(`disabled user (${ANN})`).replace(/1$/, '2'),
      entry(`linked to another account (${ANN})`),
    ]);
    await disable(false);
  });

  it.each([
    ['names no scope of ours', { scope: 'mail:read' }, {}],
    ['names an empty scope', { scope: '' }, {}],
    ['and the request have no scope in common', { scope: 'calls:read' }, { scope: 'projects:read' }],
  ])('if it %s', async (_, claims, more) => {
    const { status, body } = await world.exchange('acme', { claims, more });
    expect({ status, error: body['error'] }).toEqual({ status: 400, error: 'invalid_scope' });
    expect(await world.trail()).toEqual([entry('no scope')]);
    await nothingIsStored();
  });

  it('the second time, at every replica, and the same jti of another organization is another one', async () => {
    const [acme, globex] = await Promise.all(
      (['acme', 'globex'] as const).map((tenant) => world.issuers[tenant].sign(world.claims(tenant, { jti: 'the same' }))),
    );
    const at = world.replica();
    const used = await Promise.all([world.send(acme!), world.send(acme!, { at })]);
    expect(used.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400]);
    for (const browser of [world.browser(), at])
      expect((await world.send(acme!, { at: browser })).body['error_description']).toBe(because('replayed'));
    expect((await world.send(globex!)).status).toBe(200);
    const [kept] = await world.rows<{ seconds: number }>(
      `select round(extract(epoch from min(expires_at) - now()))::int as seconds from auth.oidc_payloads where model = 'UsedAssertion'`,
    );
    expect(kept!.seconds).toBeLessThanOrEqual(330);
  });

  it('of a client whose host the organization does not list, until it lists the host', async () => {
    const client = world.documentClient;
    await world.update('acme', { clients: 'listed', clientHosts: { hosts: [] } });
    expect((await world.exchange('acme', { client })).body['error_description']).toBe(because('client not listed'));
    expect((await world.exchange('acme')).status).toBe(200);
    expect((await world.exchange('globex', { client })).status).toBe(200);
    expect((await world.trail()).filter((each) => each.includes('connection.refuse'))).toEqual([entry('client not listed')]);
    await world.update('acme', { clients: 'listed', clientHosts: { hosts: [new URL(client.clientId).host] } });
    expect((await world.exchange('acme', { client })).status).toBe(200);
    await world.update('acme', { clients: 'any' });
  });

  it('if the metadata of its issuer names another issuer, no keys, or keys of another organization', async () => {
    const { second } = world;
    const issuers = [world.issuers.acme.issuer, second.issuer];
    await world.update('acme', { assertionIssuers: { issuers } });
    const sign = () => second.sign(world.claims('acme', { iss: second.issuer }));
    second.metadata = { issuer: world.issuers.acme.issuer };
    expect(await send(await sign())).toMatchObject({ error_description: UNTRUSTED });
    second.metadata = { jwks_uri: `${second.issuer}/nothing` };
    expect(await send(await sign())).toMatchObject({ error_description: UNTRUSTED });
    // A listed private host is for the issuer of its own organization only.
    const before = world.issuers.globex.requestedPaths.length;
    second.metadata = { jwks_uri: `${world.issuers.globex.issuer}/keys` };
    expect(await send(await sign())).toMatchObject({ error_description: UNTRUSTED });
    expect(world.issuers.globex.requestedPaths).toHaveLength(before);
    second.metadata = {};
    const refusals = (await world.trail()).filter((each) => each.includes('issuer unavailable'));
    expect(refusals).toHaveLength(1);
    expect((await world.send(await sign())).status).toBe(200);
  });
});

describe('without an entry in the trail of an organization, an assertion is refused', () => {
  it.each<[string, () => Promise<string>]>([
    ['of an issuer that nobody lists', () => world.second.sign(world.claims('acme', { iss: world.second.issuer }))],
    [
      'of an issuer under a longer name',
      () => world.issuers.acme.sign(world.claims('acme', { iss: `${world.issuers.acme.issuer}/x` })),
    ],
    ['without an issuer', () => world.issuers.acme.sign(world.claims('acme', { iss: undefined }))],
    ['of over 8,192 characters', () => world.issuers.acme.sign(world.claims('acme', { more: 'x'.repeat(8_192) }))],
    ['that is not a JWT', async () => 'abc'],
  ])('%s', async (_, forge) => {
    expect(await send(await forge())).toEqual({ status: 400, error: 'invalid_grant', error_description: UNTRUSTED });
    expect(await world.trail()).toEqual([]);
    await nothingIsStored();
  });

  it.each<[string, object, () => Promise<Partial<TestClient>>]>([
    [
      'of a client with a wrong secret',
      { error: 'invalid_client' },
      async () => ({ form: { ...world.client.form, client_secret: 'wrong' } }),
    ],
    ['of a client without its secret', { error: 'invalid_client' }, async () => ({ form: { client_id: world.client.clientId } })],
    [
      'of a client that registered itself',
      { error: 'invalid_request', error_description: 'requested grant type is not allowed for this client' },
      async () => {
        const { body } = await register(world.browser(), { grant_types: ['authorization_code', JWT_BEARER] });
        expect(body.grant_types).not.toContain(JWT_BEARER);
        return { clientId: body.client_id, form: { client_id: body.client_id } };
      },
    ],
  ])('%s', async (_, error, client) => {
    const { body } = await world.exchange('acme', { client: { ...world.client, ...(await client()) } });
    expect(body).toMatchObject(error);
    expect(await world.trail()).toEqual([]);
    await nothingIsStored();
  });

  it('for another resource, or without an assertion', async () => {
    expect((await world.exchange('acme', { more: { resource: TOOLS_URL } })).body['error']).toBe('invalid_target');
    expect((await world.send('')).body['error']).toBe('invalid_request');
  });
});

it('an issuer whose organization has no provider any more is refused, and recorded', async () => {
  await world.rows(`update auth.organizations set oidc_issuer = null, oidc_client_id = null, oidc_domains = null,
    oidc_email_proof = null, assertion_issuers = '{}' where organization = 'acme'`);
  expect((await world.exchange('acme')).body['error_description']).toBe(because('issuer not listed'));
  expect(await world.trail()).toEqual([entry('issuer not listed')]);
});

it('neither the assertion nor its claims are in the log', async () => {
  const assertion = await world.issuers.acme.sign(world.claims('acme', { email: 'canary@example.com', aud: 'canary' }));
  await send(assertion);
  const log = world.log.join('');
  expect(log).not.toContain(assertion.split('.')[2]);
  expect(log).not.toContain('canary');
});
