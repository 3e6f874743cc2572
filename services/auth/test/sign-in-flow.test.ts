import { decodeJwt, decodeProtectedHeader } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { tenant, TOOLS_URL } from '@crs/testing/world';
import { ANN, BOB, failureOf, organization, sharedAuthWorld, user, type SharedAuthWorld } from './_fixtures.ts';
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
const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];
const PERSON = { organization: ACME, email: ANN, password: PASSWORD };
const ALL = 'calls:read projects:read entities:read';

let world: SharedAuthWorld;
beforeAll(async () => {
  world = await sharedAuthWorld(
    [ACME, GLOBEX].flatMap((id) => [
      organization(id),
      user(id, ANN, { password: PASSWORD }),
      user(id, BOB, { password: PASSWORD }),
    ]),
  );
});

const browser = () => new Browser(world.stack.addresses.authHttp);
const isGood = async (accessToken: string) =>
  (await failureOf(world.auth.authenticateToken({ accessToken, audiences: ['calls'] }))) === undefined;
const auditOf = async (work: () => Promise<unknown>) => {
  const entries = () =>
    world.rows<{ entry: string }>(
      `select concat_ws(' ', actor, action, target) as entry from auth.audit where organization = $1 order by audit_id`,
      [ACME],
    );
  const before = await entries();
  await work();
  return (await entries()).slice(before.length).map(({ entry }) => entry);
};

describe('a person who connects an assistant', () => {
  it('signs in and consents, and the assistant gets tokens that auth accepts for the tools', async () => {
    const b = browser();
    let connected!: Awaited<ReturnType<typeof connectAssistant>>;
    const entries = await auditOf(async () => (connected = await connectAssistant(b, PERSON)));
    const { clientId, callback, tokens } = connected;
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
    expect(claims).toMatchObject({ iss: TOOLS_URL, aud: RESOURCE, organization: ACME, scope: ALL, client_id: clientId });
    const authenticated = await world.auth.authenticateToken({ accessToken: tokens.access_token, audiences: ['calls'] });
    expect(authenticated).toMatchObject({ organizationId: ACME, userId: claims.sub, scopes: ALL.split(' '), clientId });
    expect(authenticated.grantId).toBe(claims['grant_id']);
    expect(entries).toEqual([`${ANN} sign-in.accept ${ANN}`, `${ANN} connection.create ${String(claims['grant_id'])} Claude`]);

    const renewed = await refresh(b, clientId, tokens.refresh_token);
    expect(renewed.status).toBe(200);
    expect(renewed.body.refresh_token).not.toBe(tokens.refresh_token);
    expect(await isGood(renewed.body.access_token)).toBe(true);
  });

  it('sees the requested scopes on the consent page, or all if the assistant requests none of ours', async () => {
    expect((await connectAssistant(browser(), PERSON, { scope: 'calls:read openid offline_access' })).tokens.scope).toBe(
      'calls:read',
    );
    for (const scope of [undefined, '', 'openid profile offline_access'])
      expect((await connectAssistant(browser(), PERSON, { scope })).tokens.scope).toBe(ALL);
    expect((await connectAssistant(browser(), PERSON, { resource: undefined })).tokens.scope).toBe(ALL);
    // An OpenID Connect client requests these scopes.
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

  it('signs in once for several assistants, but consents to each', async () => {
    const b = browser();
    const { clientId } = await connectAssistant(b, PERSON);
    const again = await b.open(authorizePath(clientId, pkce().challenge));
    expect(again.page.text).toContain('value="allow"');
    expect(again.page.text).not.toContain('name="email"');
  });

  it('may deny, and the assistant gets access_denied', async () => {
    const b = browser();
    const { body } = await register(b);
    const start = await b.open(authorizePath(body.client_id, pkce().challenge));
    const consent = await b.submit(start.page, { ...PERSON });
    const { externalUrl } = await b.submit(consent.page, { decision: 'deny' });
    expect(Object.fromEntries(externalUrl!.searchParams)).toMatchObject({
      error: 'access_denied',
      state: 'a-state',
      iss: TOOLS_URL,
    });
  });

  it('gives one consent with a double click', async () => {
    const b = browser();
    const { body } = await register(b, { client_name: 'Twice' });
    const start = await b.open(authorizePath(body.client_id, pkce().challenge));
    const { page } = await b.submit(start.page, { ...PERSON });
    const click = () => b.send(actionOf(page), { form: { ...hiddenFields(page), decision: 'allow' } });
    await click();
    const { externalUrl } = await b.follow(await click());
    expect(externalUrl!.searchParams.get('code')).toBeTruthy();
    const grants = `select 1 from auth.grants where organization = $1 and client = 'Twice'`;
    expect(await world.rows(grants, [ACME])).toHaveLength(1);
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
    const { externalUrl } = await b.submit(other.page, { decision: 'allow' });
    const { body } = await redeem(b, clientId, externalUrl!.searchParams.get('code')!, verifier);
    const users = 'select user_id as id from auth.users where organization = $1 and email = $2';
    expect(await world.rows(users, [ACME, BOB])).toEqual([{ id: decodeJwt(body.access_token).sub }]);
  });

  it('signs in again if the assistant demands it, also with another account', async () => {
    const b = browser();
    const { clientId } = await connectAssistant(b, PERSON);
    const { page } = await b.open(authorizePath(clientId, pkce().challenge, { prompt: 'login' }));
    const consent = await b.submit(page, { ...PERSON, email: BOB });
    expect(consent.page.text).toContain(BOB);
    const { externalUrl } = await b.submit(consent.page, { decision: 'allow' });
    expect(externalUrl!.searchParams.get('code')).toBeTruthy();
  });

  it('need not name the organization again if the link, the cookie or the installation does', async () => {
    const b = browser();
    const { body } = await register(b);
    const path = (more: Record<string, string>) => authorizePath(body.client_id, pkce().challenge, more);
    const start = await b.open(path({}));
    expect(askedBy(start.page)).toEqual(['email']);
    const unknown = await b.submit(start.page, { email: ANN });
    expect(askedBy(unknown.page)).toEqual(['email', 'organization']);
    const spelled = await b.submit(unknown.page, { email: ANN, organization: 'Acme Inc.' });
    expect([spelled.page.status, askedBy(spelled.page)]).toEqual([422, ['email', 'organization']]);
    const named = await b.submit(unknown.page, { email: ANN, organization: ` ${ACME.toUpperCase()} ` });
    expect(askedBy(named.page)).toEqual(['email', 'password']);
    expect(named.page.text).toContain(`<bdi>${ACME}</bdi>`);

    const linked = await b.open(path({ organization: ACME }));
    expect([askedBy(linked.page), hiddenFields(linked.page)['organization']]).toEqual([['email'], ACME]);
    const hinted = await b.open(path({ organization: ACME, login_hint: ANN }));
    expect(askedBy(hinted.page)).toEqual(['email', 'password']);
    await allow(b, path({}), PERSON);
    b.cookies.delete('crs_session');
    const fromCookie = await b.open(path({}));
    expect([askedBy(fromCookie.page), hiddenFields(fromCookie.page)['organization']]).toEqual([['email'], ACME]);
    const chosen = await b.open('/connections?organization=');
    expect(askedBy(chosen.page)).toEqual(['email', 'organization']);
  });
});

describe('a consent', () => {
  it('is listed as a token for operators, whose revocation ends it and its refresh token at once', async () => {
    const b = browser();
    const { clientId, tokens } = await connectAssistant(b, PERSON);
    const grantId = String(decodeJwt(tokens.access_token)['grant_id']);
    const operator = await world.operate(ACME);
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
    const operator = await world.operate(ACME);
    await world.operator.auth.setUserDisabled({ email: BOB, disabled: true }, operator);
    expect(await isGood(tokens.access_token)).toBe(false);
    expect((await refresh(b, clientId, tokens.refresh_token)).body.error).toBe('invalid_grant');
    // The session of a disabled user has ended, so the user must sign in again, and can't.
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

  it('is distinguished from a token that an operator created, whatever name the assistant gives itself', async () => {
    const operator = await world.operate(ACME);
    const { token } = await world.operator.auth.createToken({ email: BOB, scopes: [], expiresInSeconds: 0 }, operator);
    const b = browser();
    const client = await register(b, { client_name: 'crs token create' });
    const clientId: string = client.body.client_id;
    await allow(b, authorizePath(clientId, pkce().challenge), { ...PERSON, email: BOB });
    const { page } = await b.open('/connections');
    const names = [...page.text.matchAll(/<h2><bdi>([^<]*)/g)].map(([, name]) => name);
    expect(names).toContain('A token made by your administrator');
    expect(names).toContain('crs token create');
    const { tokens } = await world.operator.auth.listTokens({}, operator);
    const kinds = tokens.filter(({ client: name }) => name === 'crs token create').map(({ kind }) => kind);
    expect(kinds.sort()).toEqual(['oauth', 'operator']);
    const csrf = /name="csrf" value="([^"]+)"/.exec(page.text)![1]!;
    const after = await b.send('/connections/revoke', { form: { csrf, id: token!.tokenId } });
    expect(after.text).toContain('A token made by your administrator is disconnected.');
  });

  it("can't be revoked by another user, who signs in on the connections page", async () => {
    const { tokens } = await connectAssistant(browser(), PERSON);
    const b = browser();
    const start = await b.open(`/connections?organization=${ACME}`);
    const list = await b.submit(start.page, { ...PERSON, email: BOB });
    expect(list.path).toBe('/connections');
    const csrf = /name="csrf" value="([^"]+)"/.exec(list.page.text)![1]!;
    await b.send('/connections/revoke', { form: { csrf, id: String(decodeJwt(tokens.access_token)['grant_id']) } });
    expect(await isGood(tokens.access_token)).toBe(true);
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
