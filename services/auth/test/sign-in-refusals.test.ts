import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { digestOf } from '@crs/kit/api-key';
import { TOOLS_URL } from '@crs/testing/world';
import { ANN, BOB, failureOf, organization, startAuthWorld, user, type AuthWorld } from './_fixtures.ts';
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
const PERSON = { organization: 'acme', email: ANN, password: PASSWORD };

let world: AuthWorld;
beforeAll(async () => {
  world = await startAuthWorld([
    organization('acme'),
    user('acme', ANN, { password: PASSWORD }),
    user('acme', BOB),
    organization('globex'),
    user('globex', BOB, { password: PASSWORD }),
  ]);
});
afterAll(() => world?.close());
// The attempts of one test must not count against the next.
beforeEach(() => world.rows('delete from auth.throttles'));

const browser = () => new Browser(world.stack.addresses.authHttp);
const isGood = async (accessToken: string) =>
  (await failureOf(world.auth.authenticateToken({ accessToken, audiences: ['calls'] }))) === undefined;

describe('an authorization', () => {
  const asked = async (more: Record<string, string | undefined>) => {
    const b = browser();
    const { body } = await register(b);
    return b.open(authorizePath(body.client_id, pkce().challenge, more));
  };

  it.each([
    ['without PKCE', { code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
    ['with the method plain', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['with a challenge that names no method', { code_challenge_method: undefined }, 'invalid_request'],
    ['for another resource', { resource: 'https://elsewhere.example/mcp' }, 'invalid_target'],
    ['for the resource with a slash', { resource: `${TOOLS_URL}/mcp/` }, 'invalid_target'],
    ['for a token itself', { response_type: 'token' }, 'unsupported_response_type'],
    ['for an id token', { response_type: 'code id_token', nonce: 'n' }, 'unsupported_response_type'],
    ['that may not ask', { prompt: 'none' }, 'login_required'],
    ['for a page that posts the code', { response_mode: 'form_post' }, 'unsupported_response_mode'],
    ['for the code in a fragment', { response_mode: 'fragment' }, 'unsupported_response_mode'],
    ['for a signed answer', { response_mode: 'jwt' }, 'unsupported_response_mode'],
    ['for a signed answer by a page', { response_mode: 'form_post.jwt' }, 'unsupported_response_mode'],
    ['for a message to its opener', { response_mode: 'web_message' }, 'unsupported_response_mode'],
  ])('%s is refused, and the client hears why', async (_name, more, error) => {
    const { away } = await asked(more);
    expect(away?.href.startsWith(CALLBACK)).toBe(true);
    const answer = away!.hash ? new URLSearchParams(away!.hash.slice(1)) : away!.searchParams;
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
      const { page } = await asked({ ...wrong, response_mode: 'form_post' });
      expect(page.text).not.toContain('<script');
    }
    const b = browser();
    const { body } = await register(b);
    const path = authorizePath(body.client_id, pkce().challenge, { response_mode: 'query' });
    for (const twice of [`${path}&response_mode=form_post`, `${path.replace('=query', '=form_post')}&response_mode=query`])
      expect((await b.open(twice)).away?.searchParams.get('error')).toBe('unsupported_response_mode');
  });

  it('may name the mode query, or none', async () => {
    for (const mode of ['query', '', undefined]) {
      const b = browser();
      const { body } = await register(b);
      const away = await allow(b, authorizePath(body.client_id, pkce().challenge, { response_mode: mode }), PERSON);
      expect(away.searchParams.has('code')).toBe(true);
    }
  });

  it.each([
    ['one character more', `${CALLBACK}/`],
    ['another case', CALLBACK.replace('callback', 'Callback')],
    ['another scheme', CALLBACK.replace('https', 'http')],
    ['a query', `${CALLBACK}?a=1`],
    ['another host', 'https://evil.example/api/mcp/auth_callback'],
  ])('whose redirect differs by %s goes nowhere', async (_name, uri) => {
    const { page, away } = await asked({ redirect_uri: uri });
    expect(away).toBeUndefined();
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
    const { page, away } = await browser().open(authorizePath('dcr_unknown', pkce().challenge));
    expect(away).toBeUndefined();
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

  it('used twice at once gives tokens at most once', async () => {
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

  it('is refused from another client', async () => {
    const { b, code, verifier } = await authorized();
    const other = await register(b);
    expect((await redeem(b, other.body.client_id, code, verifier)).body.error).toBe('invalid_grant');
  });
});

describe('a refresh token', () => {
  const age = (seconds: number) =>
    world.rows(
      `update auth.oidc_payloads set consumed_at = consumed_at - $1 * interval '1 second' where consumed_at is not null`,
      [seconds],
    );

  it('that comes again within half a minute counts as a retry', async () => {
    const b = browser();
    const { clientId, tokens } = await connectAssistant(b, PERSON);
    const first = await refresh(b, clientId, tokens.refresh_token);
    await age(20);
    const retried = await refresh(b, clientId, tokens.refresh_token);
    expect(retried.status).toBe(200);
    for (const { body } of [first, retried]) {
      expect(await isGood(body.access_token)).toBe(true);
      expect((await refresh(b, clientId, body.refresh_token)).status).toBe(200);
    }
  });

  it('that comes again later ends the connection', async () => {
    const b = browser();
    const { clientId, tokens } = await connectAssistant(b, PERSON);
    const first = await refresh(b, clientId, tokens.refresh_token);
    await age(40);
    const replayed = await refresh(b, clientId, tokens.refresh_token);
    expect(replayed).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    expect(await isGood(first.body.access_token)).toBe(false);
    expect((await refresh(b, clientId, first.body.refresh_token)).body.error).toBe('invalid_grant');
    const [entry] = await world.rows<{ entry: string }>(
      `select concat_ws(' ', organization, actor, action) as entry from auth.audit order by audit_id desc limit 1`,
    );
    expect(entry!.entry).toBe('acme sign-in connection.revoke');
  });

  it('is refused from another client, and for another resource or scope', async () => {
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
    return (await b.open(authorizePath(body.client_id, pkce().challenge, { organization: 'acme' }))).page;
  };
  const variable = (text: string) => text.replace(/\/sign-in\/[\w-]+|name="csrf" value="[^"]+"|value="[^"]*@[^"]*"/g, '');

  it('is refused in the same words, whichever field is wrong', async () => {
    const b = browser();
    const page = await form(b);
    const answers = [];
    for (const wrong of [
      { password: 'wrong password' },
      { email: 'nobody@example.com' },
      { organization: 'nowhere' },
      { organization: 'NOT POSSIBLE' },
      { email: BOB },
      { email: 'a\u0000b@example.com' },
    ]) {
      const answer = await b.send(actionOf(page), { form: { ...hiddenFields(page), ...PERSON, ...wrong } });
      answers.push({ status: answer.status, text: variable(answer.text).replace(/nowhere|not possible/gi, 'acme') });
    }
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 422));
    expect(new Set([answers[0]!.text, answers[1]!.text, answers[4]!.text]).size).toBe(1);
  });

  it('asks everybody for the same: the e-mail tells nothing of a user', async () => {
    const b = browser();
    const page = await form(b);
    const { organization: _, ...unknown } = hiddenFields(page);
    for (const known of [['acme'], ['nowhere'], []]) {
      const answers: { status: number; text: string }[] = [];
      for (const email of [ANN, 'nobody@example.com', BOB, 'nobody@elsewhere.example']) {
        const answer = await b.send(actionOf(page), { form: { ...unknown, ...(known[0] && { organization: known[0] }), email } });
        answers.push({ status: answer.status, text: variable(answer.text) });
      }
      expect(answers).toEqual(answers.map(() => ({ ...answers[0], status: 200 })));
    }
    for (const email of ['', 'ann', 'a\u0000b@example.com'])
      expect((await b.send(actionOf(page), { form: { ...hiddenFields(page), email } })).status).toBe(422);
  });

  it('takes as long for an unknown user', { retry: 3 }, async () => {
    const b = browser();
    const page = await form(b);
    const time = async (fields: object) => {
      const times: number[] = [];
      for (let i = 0; i < 5; i++) {
        await world.rows('delete from auth.throttles');
        const started = performance.now();
        await b.send(actionOf(page), { form: { ...hiddenFields(page), ...PERSON, ...fields } });
        times.push(performance.now() - started);
      }
      return Math.min(...times);
    };
    const known = await time({ password: 'wrong password' });
    for (const fields of [{ email: 'nobody@example.com' }, { organization: 'nowhere' }, { email: BOB }]) {
      const unknown = await time(fields);
      expect(unknown / known).toBeGreaterThan(0.4);
      expect(unknown / known).toBeLessThan(2.5);
    }
  });

  it('of a disabled user is refused', async () => {
    const operator = await world.operate('acme');
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
    expect((await attempt({ email: BOB, organization: 'globex' })).status).toBe(303);
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
      await world.rows(`delete from auth.audit where action = 'sign-in.refuse'`);
      await b.send(actionOf(page), { form: { ...hiddenFields(page), ...PERSON, ...typed } });
      expect(
        await world.rows(
          `select organization, actor, target, outcome, address, count from auth.audit where action = 'sign-in.refuse'`,
        ),
      ).toEqual([{ organization: 'acme', actor: 'sign-in', target, outcome: 'unauthenticated', address: '127.0.0.1', count: 1 }]);
    }
  });
});

describe('an access token', () => {
  it('of another audience is refused', async () => {
    const { tokens } = await connectAssistant(browser(), PERSON);
    const [header, payload, signature] = tokens.access_token.split('.') as [string, string, string];
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
    const other = Buffer.from(JSON.stringify({ ...claims, aud: 'https://elsewhere.example' })).toString('base64url');
    expect(await isGood([header, other, signature].join('.'))).toBe(false);
  });
});

describe('requests with forged hosts', () => {
  it('do not change any address in an answer', async () => {
    const headers = {
      host: 'evil.example',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
      forwarded: 'host=evil',
    };
    for (const path of ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration']) {
      const { text } = await browser().send(path, { headers });
      expect(text).not.toContain('evil');
      expect(JSON.parse(text)).toMatchObject({
        issuer: TOOLS_URL,
        authorization_endpoint: `${TOOLS_URL}/authorize`,
        token_endpoint: `${TOOLS_URL}/token`,
        registration_endpoint: `${TOOLS_URL}/register`,
        revocation_endpoint: `${TOOLS_URL}/revoke`,
        jwks_uri: `${TOOLS_URL}/jwks`,
        scopes_supported: ['calls:read', 'projects:read', 'entities:read'],
        response_types_supported: ['code'],
        response_modes_supported: ['query'],
        code_challenge_methods_supported: ['S256'],
        grant_types_supported: ['authorization_code', 'refresh_token'],
        authorization_response_iss_parameter_supported: true,
        client_id_metadata_document_supported: true,
        token_endpoint_auth_methods_supported: expect.arrayContaining(['none', 'client_secret_post']),
      });
    }
    const b = browser();
    const { body } = await register(b);
    const answer = await b.send(authorizePath(body.client_id, pkce().challenge), { headers });
    expect(answer.headers.get('location')).toMatch(`${TOOLS_URL}/sign-in/`);
  });

  it('reach only existing pages', async () => {
    for (const path of ['/auth', '/me', '/session/end', '/sign-in/end/confirm', '/register/dcr_x', '/request', '/token/x'])
      expect((await browser().send(path)).status, path).toBeGreaterThanOrEqual(400);
  });
});
