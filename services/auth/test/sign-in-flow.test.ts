import { decodeJwt, decodeProtectedHeader } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createLogger } from '@crs/kit/process/log';
import { parseSecrets } from '@crs/kit/process/secrets';
import { SECRET } from '@crs/testing/setup';
import { TOOLS_URL } from '@crs/testing/world';
import { createAuthService } from '../src/service.ts';
import { ANN, BOB, failureOf, organization, serviceUrl, startAuthWorld, user, type AuthWorld } from './_fixtures.ts';
import {
  actionOf,
  allow,
  askedBy,
  authorizePath,
  Browser,
  connectAssistant,
  hiddenFields,
  pkce,
  RESOURCE,
  redeem,
  refresh,
  register,
} from './_sign-in.ts';

const PASSWORD = 'correct horse battery';
const PERSON = { organization: 'acme', email: ANN, password: PASSWORD };
const ALL = 'calls:read projects:read entities:read';

let world: AuthWorld;
beforeAll(async () => {
  world = await startAuthWorld([
    organization('acme'),
    user('acme', ANN, { password: PASSWORD }),
    user('acme', BOB, { password: PASSWORD }),
  ]);
});
afterAll(() => world?.close());
// All sign-ins here come from one address, so its limits must not apply.
beforeEach(() => world.rows('delete from auth.throttles'));

const browser = () => new Browser(world.stack.addresses.authHttp);
const isGood = async (accessToken: string) =>
  (await failureOf(world.auth.authenticateToken({ accessToken, audiences: ['calls'] }))) === undefined;
const auditSince = (id: number) =>
  world.rows<{ entry: string }>(
    `select concat_ws(' ', organization, actor, action, target) as entry from auth.audit where audit_id > $1 order by audit_id`,
    [id],
  );
const lastAudit = async () =>
  Number((await world.rows<{ id: string }>('select coalesce(max(audit_id), 0) as id from auth.audit'))[0]!.id);

describe('a person who connects an assistant', () => {
  it('signs in and consents, and the assistant gets tokens that auth accepts for the tools', async () => {
    const before = await lastAudit();
    const b = browser();
    const { clientId, callback, tokens } = await connectAssistant(b, PERSON);
    expect(Object.fromEntries(callback.searchParams)).toEqual({
      code: expect.any(String),
      state: 'a-state',
      iss: TOOLS_URL,
    });
    expect(tokens).toEqual({
      access_token: expect.any(String),
      refresh_token: expect.any(String),
      expires_in: 86_400,
      scope: ALL,
      token_type: 'Bearer',
    });
    expect(decodeProtectedHeader(tokens.access_token)).toMatchObject({ alg: 'EdDSA', typ: 'at+jwt' });
    const claims = decodeJwt(tokens.access_token);
    expect(claims).toMatchObject({ iss: TOOLS_URL, aud: RESOURCE, organization: 'acme', scope: ALL, client_id: clientId });
    const known = await world.auth.authenticateToken({ accessToken: tokens.access_token, audiences: ['calls'] });
    expect(known).toMatchObject({ organizationId: 'acme', userId: claims.sub, scopes: ALL.split(' '), clientId });
    expect(known.grantId).toBe(claims['grant_id']);
    expect((await auditSince(before)).map(({ entry }) => entry)).toEqual([
      `acme ${ANN} sign-in.accept ${ANN}`,
      `acme ${ANN} connection.create ${String(claims['grant_id'])} Claude`,
    ]);

    const renewed = await refresh(b, clientId, tokens.refresh_token);
    expect(renewed.status).toBe(200);
    expect(renewed.body.refresh_token).not.toBe(tokens.refresh_token);
    expect(await isGood(renewed.body.access_token)).toBe(true);
  });

  it('is asked for the requested scopes, or for all if the assistant names none of ours', async () => {
    expect((await connectAssistant(browser(), PERSON, { scope: 'calls:read openid offline_access' })).tokens.scope).toBe(
      'calls:read',
    );
    for (const scope of [undefined, '', 'openid profile offline_access'])
      expect((await connectAssistant(browser(), PERSON, { scope })).tokens.scope).toBe(ALL);
    expect((await connectAssistant(browser(), PERSON, { resource: undefined })).tokens.scope).toBe(ALL);
    // A client of OpenID Connect asks for these scopes.
    expect((await connectAssistant(browser(), PERSON, { scope: 'openid', nonce: 'n', max_age: '60' })).tokens.scope).toBe(ALL);
  });

  it('gives an assistant that refreshes with fewer scopes a token with only those', async () => {
    const b = browser();
    const { clientId, tokens } = await connectAssistant(b, PERSON);
    const { body } = await refresh(b, clientId, tokens.refresh_token, { scope: 'calls:read' });
    expect(body.scope).toBe('calls:read');
    expect((await world.auth.authenticateToken({ accessToken: body.access_token, audiences: ['calls'] })).scopes).toEqual([
      'calls:read',
    ]);
    expect((await refresh(b, clientId, body.refresh_token)).body.scope).toBe(ALL);
  });

  it('signs in once for several assistants, but is asked for consent each time', async () => {
    const b = browser();
    const { clientId } = await connectAssistant(b, PERSON);
    const again = await b.open(authorizePath(clientId, pkce().challenge));
    expect(again.page.text).toContain('value="allow"');
    expect(again.page.text).not.toContain('name="email"');
  });

  it('may deny, and the assistant is told', async () => {
    const b = browser();
    const { body } = await register(b);
    const start = await b.open(authorizePath(body.client_id, pkce().challenge));
    const consent = await b.submit(start.page, { ...PERSON });
    const { away } = await b.submit(consent.page, { decision: 'deny' });
    expect(Object.fromEntries(away!.searchParams)).toMatchObject({ error: 'access_denied', state: 'a-state', iss: TOOLS_URL });
  });

  it('consents once with a double click', async () => {
    const b = browser();
    const { body } = await register(b, { client_name: 'Twice' });
    const start = await b.open(authorizePath(body.client_id, pkce().challenge));
    const { page } = await b.submit(start.page, { ...PERSON });
    const click = () => b.send(actionOf(page), { form: { ...hiddenFields(page), decision: 'allow' } });
    await click();
    const { away } = await b.follow(await click());
    expect(away!.searchParams.get('code')).toBeTruthy();
    expect(await world.rows(`select 1 from auth.grants where client = 'Twice'`)).toHaveLength(1);
  });

  it('may switch to another account', async () => {
    const b = browser();
    const { clientId } = await connectAssistant(b, PERSON);
    const { verifier, challenge } = pkce();
    const consent = await b.open(authorizePath(clientId, challenge));
    expect(consent.page.text).toContain(ANN);
    const signIn = await b.submit(consent.page, { decision: 'switch' });
    const other = await b.submit(signIn.page, { ...PERSON, email: BOB });
    expect(other.page.text).toContain(BOB);
    const { away } = await b.submit(other.page, { decision: 'allow' });
    const { body } = await redeem(b, clientId, away!.searchParams.get('code')!, verifier);
    const bob = await world.rows<{ id: string }>('select user_id as id from auth.users where email = $1', [BOB]);
    expect(decodeJwt(body.access_token).sub).toBe(bob[0]!.id);
  });

  it('signs in again if the assistant demands it, also with another account', async () => {
    const b = browser();
    const { clientId } = await connectAssistant(b, PERSON);
    const { page } = await b.open(authorizePath(clientId, pkce().challenge, { prompt: 'login' }));
    const consent = await b.submit(page, { ...PERSON, email: BOB });
    expect(consent.page.text).toContain(BOB);
    const { away } = await b.submit(consent.page, { decision: 'allow' });
    expect(away!.searchParams.get('code')).toBeTruthy();
  });

  it('finds their organization by the link, the cookie or the installation', async () => {
    const b = browser();
    const { body } = await register(b);
    const path = (more: Record<string, string>) => authorizePath(body.client_id, pkce().challenge, more);
    const start = await b.open(path({}));
    expect(askedBy(start.page)).toEqual(['email']);
    const unknown = await b.submit(start.page, { email: ANN });
    expect(askedBy(unknown.page)).toEqual(['email', 'organization']);
    const spelled = await b.submit(unknown.page, { email: ANN, organization: 'Acme Inc.' });
    expect([spelled.page.status, askedBy(spelled.page)]).toEqual([422, ['email', 'organization']]);
    const named = await b.submit(unknown.page, { email: ANN, organization: ' ACME ' });
    expect(askedBy(named.page)).toEqual(['email', 'password']);
    expect(named.page.text).toContain('<bdi>acme</bdi>');

    const linked = await b.open(path({ organization: 'acme' }));
    expect([askedBy(linked.page), hiddenFields(linked.page)['organization']]).toEqual([['email'], 'acme']);
    const hinted = await b.open(path({ organization: 'acme', login_hint: ANN }));
    expect(askedBy(hinted.page)).toEqual(['email', 'password']);
    await allow(b, path({}), PERSON);
    b.cookies.delete('crs_session');
    const remembered = await b.open(path({}));
    expect([askedBy(remembered.page), hiddenFields(remembered.page)['organization']]).toEqual([['email'], 'acme']);
    const chosen = await b.open('/connections?organization=');
    expect(askedBy(chosen.page)).toEqual(['email', 'organization']);
  });
});

describe('a consent', () => {
  it('is listed as a token for operators, who revoke it at once and without renewal', async () => {
    const b = browser();
    const { clientId, tokens } = await connectAssistant(b, PERSON);
    const grantId = String(decodeJwt(tokens.access_token)['grant_id']);
    const operator = await world.operate('acme');
    const listed = (await world.operator.auth.listTokens({}, operator)).tokens.find(({ tokenId }) => tokenId === grantId);
    expect(listed).toMatchObject({ email: ANN, client: 'Claude', scopes: ALL.split(' '), revokedAt: undefined });
    await world.operator.auth.revokeToken({ tokenId: grantId }, operator);
    expect(await isGood(tokens.access_token)).toBe(false);
    expect(await refresh(b, clientId, tokens.refresh_token)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
  });

  it('ends when the assistant revokes its refresh token', async () => {
    const b = browser();
    const { clientId, tokens } = await connectAssistant(b, PERSON);
    const answer = await b.send('/revoke', { form: { client_id: clientId, token: tokens.refresh_token } });
    expect(answer.status).toBe(200);
    expect(await isGood(tokens.access_token)).toBe(false);
  });

  it('ends with its user', async () => {
    const b = browser();
    const { clientId, tokens } = await connectAssistant(b, { ...PERSON, email: BOB });
    const operator = await world.operate('acme');
    await world.operator.auth.setUserDisabled({ email: BOB, disabled: true }, operator);
    expect(await isGood(tokens.access_token)).toBe(false);
    expect((await refresh(b, clientId, tokens.refresh_token)).body.error).toBe('invalid_grant');
    // A disabled user with a session must sign in again, and can't.
    const { page } = await b.open(authorizePath(clientId, pkce().challenge));
    expect(page.text).toContain('name="email"');
    await world.operator.auth.setUserDisabled({ email: BOB, disabled: false }, operator);
  });

  it('is shown to its user, who may revoke it', async () => {
    const b = browser();
    const { tokens } = await connectAssistant(b, PERSON);
    const grantId = String(decodeJwt(tokens.access_token)['grant_id']);
    const { page } = await b.open('/connections');
    expect(page.text).toContain(`value="${grantId}"`);
    expect(page.text).toContain('Claude');
    const csrf = /name="csrf" value="([^"]+)"/.exec(page.text)![1]!;
    const forged = await b.send('/connections/revoke', { form: { id: grantId } });
    expect(forged.status).toBe(403);
    const after = await b.send('/connections/revoke', { form: { csrf, id: grantId } });
    expect(after.text).toContain('Claude is disconnected.');
    expect(after.text).not.toContain(`value="${grantId}"`);
    expect(await isGood(tokens.access_token)).toBe(false);
    const out = await b.send('/connections/sign-out', { form: { csrf } });
    expect(out.text).toContain('You are signed out');
    expect(out.headers.get('clear-site-data')).toBe('"cache", "storage"');
    expect((await b.open('/connections')).page.text).toContain('name="email"');
  });

  it('tells tokens that an operator has made from assistants, whatever those call themselves', async () => {
    const operator = await world.operator.operator('acme');
    const { token } = await world.operator.auth.createToken({ email: BOB, scopes: [], expiresInSeconds: 0 }, operator);
    const b = browser();
    const client = await register(b, { client_name: ' crs token  create' });
    const clientId: string = client.body.client_id;
    await allow(b, authorizePath(clientId, pkce().challenge), { ...PERSON, email: BOB });
    const { page } = await b.open('/connections');
    const names = [...page.text.matchAll(/<h2><bdi>([^<]*)/g)].map(([, name]) => name);
    expect(names).toContain('A token made by your administrator');
    expect(names).toContain(clientId);
    expect(page.text).not.toContain('crs token create');
    const csrf = /name="csrf" value="([^"]+)"/.exec(page.text)![1]!;
    const after = await b.send('/connections/revoke', { form: { csrf, id: token!.tokenId } });
    expect(after.text).toContain('A token made by your administrator is disconnected.');
  });

  it("can't be revoked by another user; the page signs people in by itself", async () => {
    const { tokens } = await connectAssistant(browser(), PERSON);
    const b = browser();
    const start = await b.open('/connections?organization=acme');
    const list = await b.submit(start.page, { ...PERSON, email: BOB });
    expect(list.path).toBe('/connections');
    const csrf = /name="csrf" value="([^"]+)"/.exec(list.page.text)![1]!;
    await b.send('/connections/revoke', { form: { csrf, id: String(decodeJwt(tokens.access_token)['grant_id']) } });
    expect(await isGood(tokens.access_token)).toBe(true);
  });
});

describe('two replicas', () => {
  it('serve one sign-in in turns, and sign with a new key without a restart', async () => {
    const log = createLogger('auth', { level: 'silent' });
    const other = createAuthService(
      {
        accessTokenSeconds: 86_400,
        listen: '127.0.0.1:0',
        adminListen: '127.0.0.1:0',
        httpListen: '127.0.0.1:0',
        databaseUrl: serviceUrl(world.databaseUrl),
        maxConnections: 2,
        secrets: parseSecrets(SECRET),
        toolsUrl: TOOLS_URL,
      },
      { log },
    );
    const { http } = await other.start();
    const b = new Browser(world.stack.addresses.authHttp, http);
    const { clientId, tokens } = await connectAssistant(b, PERSON);
    const renewed = await refresh(b, clientId, tokens.refresh_token);
    expect(renewed.status).toBe(200);
    try {
      const kid = (token: string) => decodeProtectedHeader(token).kid;
      const published = async (address: string) => JSON.parse((await new Browser(address).send('/jwks')).text);
      const idsOf = async (address: string) => (await published(address)).keys.map((key: { kid: string }) => key.kid);
      const { keyId } = await world.operator.auth.rotateTokenKey({}, await world.operate());
      // Announced, it doesn't sign.
      for (const address of [world.stack.addresses.authHttp, http])
        await expect.poll(() => idsOf(address), { timeout: 10_000 }).toEqual([kid(tokens.access_token), keyId]);
      await world.rows('update auth.token_keys set sign_from = now() where key_id = $1', [keyId]);
      for (const address of [world.stack.addresses.authHttp, http])
        await expect.poll(() => idsOf(address), { timeout: 10_000 }).toEqual([keyId, kid(tokens.access_token)]);
      const after = await refresh(b, clientId, renewed.body.refresh_token);
      expect(kid(after.body.access_token)).toBe(keyId);
      for (const token of [tokens, renewed.body, after.body]) expect(await isGood(token.access_token)).toBe(true);
      expect(JSON.stringify(await published(http))).not.toContain('"d"');
    } finally {
      await other.stop();
    }
  });
});

describe('secrets', () => {
  it('are absent from the log and unreadable in the database', async () => {
    const { code, verifier, tokens } = await connectAssistant(browser(), PERSON);
    const rows = await world.rows<{ row: string }>(
      `select t::text as row from auth.oidc_payloads t union all select t::text from auth.grants t
        union all select t::text from auth.audit t union all select t::text from auth.throttles t`,
    );
    const stored = rows.map(({ row }) => row).join('\n');
    const logged = world.log.join('');
    for (const secret of [PASSWORD, code, verifier, tokens.refresh_token, tokens.access_token.split('.')[2]!]) {
      expect(stored).not.toContain(secret);
      expect(stored).not.toContain(Buffer.from(secret).toString('hex'));
      expect(logged).not.toContain(secret);
    }
  });
});

// The last test: what the services remember by the clock is from the future afterwards.
describe('a browser', () => {
  it('stays signed in for 12 hours, however much the session is used', async () => {
    const b = browser();
    await connectAssistant(b, PERSON);
    const client = await register(b);
    const path = authorizePath(client.body.client_id as string, pkce().challenge);
    const hour = 3_600_000;
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 11 * hour });
    try {
      expect((await b.open(path)).page.text).toContain('value="allow"');
      vi.setSystemTime(Date.now() + 2 * hour);
      expect((await b.open(path)).page.text).toContain('name="email"');
    } finally {
      vi.useRealTimers();
    }
  });
});
