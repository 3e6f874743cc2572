import { decodeJwt } from 'jose';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { digestOf } from '@crs/kit/api-key';
import { tenant, TOOLS_URL } from '@crs/testing/world';
import { ANN, BOB, failureOf, organization, sharedAuthWorld, user, type SharedAuthWorld } from './_fixtures.ts';
import {
  actionOf,
  allow,
  authorizePath,
  Browser,
  CALLBACK,
  connectAssistant,
  hiddenFields,
  pkce,
  redeem,
  refresh,
  register,
} from './_sign-in.ts';

const PASSWORD = 'correct horse battery';
const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];
const PERSON = { organization: ACME, email: ANN, password: PASSWORD };

let world: SharedAuthWorld;
beforeAll(async () => {
  world = await sharedAuthWorld([
    organization(ACME),
    user(ACME, ANN, { password: PASSWORD }),
    user(ACME, BOB),
    organization(GLOBEX),
    user(GLOBEX, ANN, { password: 'plum tart on a late tram' }),
    user(GLOBEX, BOB, { password: PASSWORD }),
  ]);
});
// The attempts of one test must not use up the limits of the next.
beforeEach(() => world.rows('delete from auth.throttles'));

const browser = () => new Browser(world.stack.addresses.authHttp);
const isGood = async (accessToken: string) =>
  (await failureOf(world.auth.authenticateToken({ accessToken, audiences: ['calls'] }))) === undefined;

describe('an authorization', () => {
  const authorizeWith = async (more: Record<string, string | undefined>) => {
    const b = browser();
    const { body } = await register(b);
    return b.open(authorizePath(body.client_id, pkce().challenge, more));
  };

  it.each([
    ['without PKCE', { code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
    ['with the method plain', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['with a challenge that names no method', { code_challenge_method: undefined }, 'invalid_request'],
    ['for another resource', { resource: 'https://elsewhere.example/mcp' }, 'invalid_target'],
    ['for the resource with a trailing slash', { resource: `${TOOLS_URL}/mcp/` }, 'invalid_target'],
    ['for an access token instead of a code', { response_type: 'token' }, 'unsupported_response_type'],
    ['for an id token', { response_type: 'code id_token', nonce: 'n' }, 'unsupported_response_type'],
    ['that forbids interaction', { prompt: 'none' }, 'login_required'],
    ['for a page that posts the code', { response_mode: 'form_post' }, 'unsupported_response_mode'],
    ['for the code in a fragment', { response_mode: 'fragment' }, 'unsupported_response_mode'],
    ['for a signed response', { response_mode: 'jwt' }, 'unsupported_response_mode'],
    ['for a signed response that a page posts', { response_mode: 'form_post.jwt' }, 'unsupported_response_mode'],
    ['for a message to its opener', { response_mode: 'web_message' }, 'unsupported_response_mode'],
  ])('%s is refused, and the client gets the error code', async (_name, more, error) => {
    const { externalUrl } = await authorizeWith(more);
    expect(externalUrl?.href.startsWith(CALLBACK)).toBe(true);
    const answer = externalUrl!.hash ? new URLSearchParams(externalUrl!.hash.slice(1)) : externalUrl!.searchParams;
    expect(Object.fromEntries(answer)).toMatchObject({ error, state: 'a-state', iss: TOOLS_URL });
    expect(answer.has('code')).toBe(false);
  });

  it('gets no page with a script, whatever else is wrong with it', async () => {
    for (const wrong of [
      {},
      { code_challenge: undefined },
      { resource: 'https://elsewhere.example/mcp' },
      { response_type: 'token' },
      { prompt: 'none' },
      { redirect_uri: 'https://evil.example/' },
      { response_type: undefined },
    ]) {
      const { page } = await authorizeWith({ ...wrong, response_mode: 'form_post' });
      expect(page.text).not.toContain('<script');
    }
    const b = browser();
    const { body } = await register(b);
    const path = authorizePath(body.client_id, pkce().challenge, { response_mode: 'query' });
    for (const twice of [`${path}&response_mode=form_post`, `${path.replace('=query', '=form_post')}&response_mode=query`])
      expect((await b.open(twice)).externalUrl?.searchParams.get('error')).toBe('unsupported_response_mode');
  });

  it('may have the response mode "query", or none', async () => {
    for (const mode of ['query', '', undefined]) {
      const b = browser();
      const { body } = await register(b);
      const externalUrl = await allow(b, authorizePath(body.client_id, pkce().challenge, { response_mode: mode }), PERSON);
      expect(externalUrl.searchParams.has('code')).toBe(true);
    }
  });

  it.each([
    ['one character more', `${CALLBACK}/`],
    ['a different case', CALLBACK.replace('callback', 'Callback')],
    ['another scheme', CALLBACK.replace('https', 'http')],
    ['a query', `${CALLBACK}?a=1`],
    ['another host', 'https://evil.example/api/mcp/auth_callback'],
  ])('whose redirect URI differs by %s is not redirected', async (_name, uri) => {
    const { page, externalUrl } = await authorizeWith({ redirect_uri: uri });
    expect(externalUrl).toBeUndefined();
    expect(page.status).toBe(400);
    expect(page.headers.get('content-type')).toMatch('text/html');
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  });

  it('has at most 100 parameters in its address', async () => {
    const b = browser();
    const { body } = await register(b);
    const path = authorizePath(body.client_id, pkce().challenge);
    const padded = (count: number) => path + '&a=1'.repeat(count - new URLSearchParams(path.split('?')[1]).size);
    const { page } = await b.open(padded(100));
    expect([page.status, page.text.includes('id="email"')]).toEqual([200, true]);
    const refused = await browser().open(padded(101));
    expect([refused.page.status, refused.page.text.includes('at most 100 parameters')]).toEqual([400, true]);
  });

  it('of an unknown client gets no redirect', async () => {
    const { page, externalUrl } = await browser().open(authorizePath('dcr_unknown', pkce().challenge));
    expect(externalUrl).toBeUndefined();
    expect(page.status).toBe(400);
  });
});

describe('a code', () => {
  const authorized = async () => {
    const b = browser();
    const { body } = await register(b);
    const { verifier, challenge } = pkce();
    const callback = await allow(b, authorizePath(body.client_id, challenge), PERSON);
    return { b, clientId: body.client_id as string, code: callback.searchParams.get('code')!, verifier };
  };

  it('used twice is refused, and all tokens made from it end', async () => {
    const b = browser();
    const { clientId, code, verifier, tokens } = await connectAssistant(b, PERSON);
    expect(await isGood(tokens.access_token)).toBe(true);
    expect(await redeem(b, clientId, code, verifier)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    expect(await isGood(tokens.access_token)).toBe(false);
    expect((await refresh(b, clientId, tokens.refresh_token)).body.error).toBe('invalid_grant');
  });

  it('used twice at the same time yields tokens at most once', async () => {
    const { b, clientId, code, verifier } = await authorized();
    const answers = await Promise.all([1, 2, 3, 4].map(() => redeem(b, clientId, code, verifier)));
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1);
  });

  it.each([
    ['another verifier', { code_verifier: pkce().verifier }, 'invalid_grant'],
    ['another redirect', { redirect_uri: `${CALLBACK}/` }, 'invalid_grant'],
    ['another resource', { resource: 'https://elsewhere.example/mcp' }, 'invalid_target'],
  ])('with %s is refused', async (_name, more, error) => {
    const { b, clientId, code, verifier } = await authorized();
    expect(await redeem(b, clientId, code, verifier, more)).toMatchObject({ status: 400, body: { error } });
  });

  it('is refused if another client presents it', async () => {
    const { b, code, verifier } = await authorized();
    const other = await register(b);
    expect((await redeem(b, other.body.client_id, code, verifier)).body.error).toBe('invalid_grant');
  });
});

describe('a refresh token', () => {
  /** Moves the last use of a connection's tokens into the past. */
  const age = (seconds: number, accessToken: string) =>
    world.rows(
      `update auth.oidc_payloads set consumed_at = consumed_at - $1 * interval '1 second'
        where grant_id = $2 and consumed_at is not null`,
      [seconds, decodeJwt(accessToken)['grant_id']],
    );

  it('used again within half a minute counts as a retry', async () => {
    const b = browser();
    const { clientId, tokens } = await connectAssistant(b, PERSON);
    const first = await refresh(b, clientId, tokens.refresh_token);
    await age(20, tokens.access_token);
    const retried = await refresh(b, clientId, tokens.refresh_token);
    expect(retried.status).toBe(200);
    for (const { body } of [first, retried]) {
      expect(await isGood(body.access_token)).toBe(true);
      expect((await refresh(b, clientId, body.refresh_token)).status).toBe(200);
    }
  });

  it('used again later ends the connection', async () => {
    const b = browser();
    const { clientId, tokens } = await connectAssistant(b, PERSON);
    const first = await refresh(b, clientId, tokens.refresh_token);
    await age(40, tokens.access_token);
    const replayed = await refresh(b, clientId, tokens.refresh_token);
    expect(replayed).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    expect(await isGood(first.body.access_token)).toBe(false);
    expect((await refresh(b, clientId, first.body.refresh_token)).body.error).toBe('invalid_grant');
    const [entry] = await world.rows(
      'select actor, action from auth.audit where organization = $1 order by audit_id desc limit 1',
      [ACME],
    );
    expect(entry).toEqual({ actor: 'sign-in', action: 'connection.revoke' });
  });

  it('is refused if another client presents it, or for another resource or scope', async () => {
    const b = browser();
    const { clientId, tokens } = await connectAssistant(b, PERSON, { scope: 'calls:read' });
    const other = await register(b);
    expect((await refresh(b, other.body.client_id, tokens.refresh_token)).body.error).toBe('invalid_grant');
    const elsewhere = await refresh(b, clientId, tokens.refresh_token, { resource: 'https://elsewhere.example/mcp' });
    expect(elsewhere.body.error).toBe('invalid_target');
  });

  it("can't get more than was granted", async () => {
    const b = browser();
    const { clientId, tokens } = await connectAssistant(b, PERSON, { scope: 'calls:read' });
    expect((await refresh(b, clientId, tokens.refresh_token, { scope: 'projects:read' })).body.error).toBe('invalid_scope');
  });
});

describe('a sign-in', () => {
  const form = async (b: Browser) => {
    const { body } = await register(b);
    return (await b.open(authorizePath(body.client_id, pkce().challenge, { organization: ACME }))).page;
  };

  it('of a disabled user is refused', async () => {
    const operator = await world.operate(ACME);
    await world.operator.auth.setUserDisabled({ email: ANN, disabled: true }, operator);
    const b = browser();
    const page = await form(b);
    expect((await b.send(actionOf(page), { form: { ...hiddenFields(page), ...PERSON } })).status).toBe(422);
    await world.operator.auth.setUserDisabled({ email: ANN, disabled: false }, operator);
  });

  it('is refused after ten attempts at an account, right or wrong, without effect on other accounts', async () => {
    const b = browser();
    const page = await form(b);
    const attempt = (fields: object) => b.send(actionOf(page), { form: { ...hiddenFields(page), ...PERSON, ...fields } });
    for (let i = 0; i < 10; i++) expect((await attempt({ password: 'wrong password' })).status).toBe(422);
    const refused = await attempt({});
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await attempt({ email: BOB, organization: GLOBEX })).status).toBe(303);
  });

  it('is refused after a hundred attempts from one address', async () => {
    const b = browser();
    const page = await form(b);
    const fields = { ...hiddenFields(page), ...PERSON };
    const attempt = (address: string) => b.send(actionOf(page), { form: fields, headers: { 'x-forwarded-for': address } });
    const bucket = digestOf('address:203.0.113.7');
    await world.rows(`insert into auth.throttles values ($1, 100, now() + interval '1 minute')`, [bucket]);
    expect((await attempt('203.0.113.7')).status).toBe(429);
    expect((await attempt('203.0.113.8')).status).toBe(303);
  });

  it('needs the form of the same sign-in', async () => {
    const b = browser();
    const page = await form(b);
    for (const csrf of ['', 'x', hiddenFields(await form(browser()))['csrf']!])
      expect((await b.send(actionOf(page), { form: { ...PERSON, csrf } })).status).toBe(403);
    // Another browser lacks the cookie.
    expect((await browser().send(actionOf(page))).status).toBe(400);
    expect((await browser().send(actionOf(page), { form: { ...hiddenFields(page), ...PERSON } })).status).toBe(400);
  });

  it('is audited when it fails, without the typed text', async () => {
    const b = browser();
    const page = await form(b);
    for (const [typed, target] of [
      [{ email: 'my-password-by-mistake' }, 'unknown user'],
      [{ password: 'wrong-password' }, ANN],
    ] as const) {
      await world.rows(`delete from auth.audit where organization = $1 and action = 'sign-in.refuse'`, [ACME]);
      await b.send(actionOf(page), { form: { ...hiddenFields(page), ...PERSON, ...typed } });
      expect(
        await world.rows(
          `select actor, target, outcome, address, count from auth.audit where organization = $1 and action = 'sign-in.refuse'`,
          [ACME],
        ),
      ).toEqual([{ actor: 'sign-in', target, outcome: 'unauthenticated', address: b.address, count: 1 }]);
    }
  });
});
