import { decodeJwt, decodeProtectedHeader } from 'jose';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { tenant } from '@crs/testing/world';
import { ageSession } from './_age-session.ts';
import { ANN, BOB, failureOf, organization, sharedAuthWorld, user, type SharedAuthWorld } from './_fixtures.ts';
import {
  Browser,
  connectAssistant,
  connectionsOn,
  disconnect,
  openConnections,
  requestOwnToken,
  SCOPES,
  signIn,
  tokenOn,
  type Answer,
} from './_sign-in.ts';

const PASSWORD = 'correct horse battery';
const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];
const PERSON = { organization: ACME, email: ANN, password: PASSWORD };
const TWIN = { ...PERSON, organization: GLOBEX };
const DAY = 86_400;

let world: SharedAuthWorld;
beforeAll(async () => {
  world = await sharedAuthWorld(
    [ACME, GLOBEX].flatMap((id) => [
      organization(id, { own_tokens: true }),
      user(id, ANN, { password: PASSWORD }),
      user(id, BOB, { password: PASSWORD }),
    ]),
  );
});

const browser = () => new Browser(world.stack.addresses.authHttp);
const setOwnTokens = async (ownTokens: boolean, id = ACME) => {
  const settings = {
    ownTokens,
    allowedFields: undefined,
    rateLimit: undefined,
    toolRateLimit: undefined,
    oidcProvider: undefined,
    assertionIssuers: undefined,
  };
  await world.operator.auth.updateOrganization({ settings }, await world.operate(id));
};
const isGood = async (accessToken: string) =>
  (await failureOf(world.auth.authenticateToken({ accessToken, audiences: ['calls'] }))) === undefined;
const tokensOf = async (id = ACME) => {
  const { tokens } = await world.operator.auth.listTokens({}, await world.operate(id));
  return tokens.filter(({ kind, revokedAt }) => kind === 'own' && !revokedAt);
};
const auditOf = (tokenId: string) =>
  world.rows<{ entry: string }>(
    `select concat_ws(' ', organization, actor, action, target) as entry from auth.audit where target like $1 || '%' order by audit_id`,
    [tokenId],
  );

const errorOn = ({ text }: Answer) => /id="token-error"[^>]*>.*?<p>([^<]*)<\/p>/s.exec(text)?.[1];

/** Makes a token by the page. */
async function make(person = PERSON, fields = {}) {
  const b = browser();
  const page = await openConnections(b, person);
  const answer = await requestOwnToken(b, page, fields);
  const accessToken = tokenOn(answer)!;
  return { b, page, answer, accessToken, id: String(decodeJwt(accessToken)['grant_id']) };
}

beforeEach(() => world.rows(`delete from auth.grants where organization in ($1, $2)`, [ACME, GLOBEX]));

describe('a token that a user makes', () => {
  it('reads with the chosen scopes until it expires, and is audited', async () => {
    const { answer, accessToken, id } = await make(PERSON, {
      label: ' my\u00a0 script\u202e',
      days: '7',
      scopes: SCOPES.slice(1),
    });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.text).toContain('It is shown only this once.');
    const authenticated = await world.auth.authenticateToken({ accessToken, audiences: ['calls'] });
    expect(authenticated).toMatchObject({ organizationId: ACME, scopes: SCOPES.slice(1), grantId: id, clientId: '' });
    const [token] = await tokensOf();
    expect(token).toMatchObject({ tokenId: id, kind: 'own', client: 'my script', email: ANN, scopes: SCOPES.slice(1) });
    const lifetime = (token!.expiresAt!.getTime() - token!.createdAt!.getTime()) / 1_000;
    expect(Math.abs(lifetime - 7 * DAY)).toBeLessThanOrEqual(1);
    expect(decodeJwt(accessToken).exp).toBe(token!.expiresAt!.getTime() / 1_000);
    expect(await auditOf(id)).toEqual([{ entry: `${ACME} ${ANN} token.create ${id} my script` }]);
    expect(await tokensOf(GLOBEX)).toEqual([]);
  });

  it('is shown to nobody afterwards', async () => {
    const { b, accessToken } = await make();
    const { page } = await b.open('/connections');
    expect(connectionsOn(page)[0]!.words).toMatch(/^nightly export May read .* Last used never Expires .* Revoke/);
    const stored = await world.rows('select g::text from auth.grants g union all select a::text from auth.audit a');
    const signature = accessToken.split('.')[2]!;
    for (const text of [page.text, JSON.stringify(stored), world.log.join('')]) expect(text).not.toContain(signature);
  });

  it('keeps its signing key until it expires', async () => {
    // Tokens of other tests may live longer.
    await world.rows('update auth.token_keys set protected_until = null');
    const { accessToken } = await make(PERSON, { days: '90' });
    const [key] = await world.rows<{ until: Date }>('select protected_until as until from auth.token_keys where key_id = $1', [
      decodeProtectedHeader(accessToken).kid,
    ]);
    expect(key!.until.getTime()).toBeGreaterThanOrEqual(decodeJwt(accessToken).exp! * 1_000);
  });

  it('is revoked by its user at once, and by nobody else', async () => {
    const { b, accessToken, id } = await make();
    for (const person of [TWIN, { ...PERSON, email: BOB }]) {
      const other = browser();
      const page = await openConnections(other, person);
      expect(page.text).not.toContain('nightly export');
      await disconnect(other, page, id);
      expect(await isGood(accessToken)).toBe(true);
    }
    const { page } = await b.open('/connections');
    const after = await disconnect(b, page, id);
    expect(after.text).toContain('The token nightly export is revoked.');
    expect(connectionsOn(after)).toEqual([]);
    expect(await isGood(accessToken)).toBe(false);
    expect((await auditOf(id))[1]).toEqual({ entry: `${ACME} ${ANN} token.revoke ${id}` });
  });

  it('is refused without the token of the form', async () => {
    const b = browser();
    const page = await openConnections(b, PERSON);
    expect((await requestOwnToken(b, { ...page, text: '' })).status).toBe(403);
    expect((await requestOwnToken(browser(), page)).status).toBe(403);
    expect(await tokensOf()).toEqual([]);
  });
});

describe('the form for a token', () => {
  it.each([
    ['the shortest name', { label: 'x' }],
    ['the longest name', { label: '😀'.repeat(100) }],
    ['one day', { days: '1' }],
    ['90 days', { days: '90' }],
    ['one scope, and an unknown one', { scopes: ['calls:read', 'calls:write'] }],
  ])('accepts %s', async (_name, fields) => expect((await make(PERSON, fields)).answer.status).toBe(200));

  it.each([
    ['no name', { label: ' \u200b' }, /1 to 100 characters/],
    ['a longer name', { label: '😀'.repeat(101) }, /1 to 100 characters/],
    ['no day', { days: '' }, /from 1 to 90/],
    ['0 days', { days: '0' }, /from 1 to 90/],
    ['91 days', { days: '91' }, /from 1 to 90/],
    ['a part of a day', { days: '1.5' }, /from 1 to 90/],
    ['no scope', { scopes: [] }, /at least one/],
    ['only an unknown scope', { scopes: ['calls:write'] }, /at least one/],
  ])('refuses %s, and keeps what was typed', async (_name, fields, reason) => {
    const b = browser();
    const answer = await requestOwnToken(b, await openConnections(b, PERSON), { label: 'typed', ...fields });
    expect(answer.status).toBe(422);
    expect(errorOn(answer)).toMatch(reason);
    if (!('label' in fields)) expect(answer.text).toContain('value="typed"');
    expect(await tokensOf()).toEqual([]);
  });

  it('makes at most 20 live tokens of a user, also at once', async () => {
    const earlier = `insert into auth.grants (organization, grant_id, user_id, kind, client, scopes, expires_at, revoked_at)
      select u.organization, 'grant_' || n, u.user_id, 'own', 'a', '{}',
        now() + (case when n = 20 then -1 else 1 end) * interval '1 day', case when n = 21 then now() end
      from auth.users u cross join generate_series(1, 21) n where u.organization = $1 and u.email = $2`;
    // 19 of them count: one has expired, one is revoked.
    await world.rows(earlier, [ACME, ANN]);
    const b = browser();
    const page = await openConnections(b, PERSON);
    const answers = await Promise.all([requestOwnToken(b, page), requestOwnToken(b, page), requestOwnToken(b, page)]);
    const refused = answers.filter(({ status }) => status === 422);
    expect([answers.length, refused.length]).toEqual([3, 2]);
    expect(errorOn(refused[0]!)).toContain('You have 20 tokens');
    for (const other of [{ ...PERSON, email: BOB }, TWIN]) expect((await make(other)).answer.status).toBe(200);
    await disconnect(b, page, 'grant_1');
    expect((await requestOwnToken(b, page)).status).toBe(200);
    expect((await requestOwnToken(b, page)).status).toBe(422);
  });
});

describe('making a token needs a sign-in', () => {
  it('within the last 10 minutes; otherwise the page lets the user sign in again, and comes back', async () => {
    const b = browser();
    await openConnections(b, PERSON);
    await ageSession(world, b, 590);
    const { page } = await b.open('/connections');
    expect((await requestOwnToken(b, page)).status).toBe(200);
    await ageSession(world, b, 20);
    const late = await b.open('/connections');
    expect(late.page.text).not.toContain('action="/connections/tokens"');
    expect(late.page.text).toContain('href="/connections?sign-in=again"');
    const refused = await requestOwnToken(b, page);
    expect([refused.status, refused.headers.get('location')]).toEqual([303, '/connections?sign-in=again']);
    expect(await tokensOf()).toHaveLength(1);

    const form = await b.open('/connections?sign-in=again');
    expect(form.page.text).toContain(`value="${ANN}"`);
    const back = await signIn(b, form.page, PERSON);
    expect(back.path).toBe('/connections');
    expect((await requestOwnToken(b, back.page)).status).toBe(200);
  });

  it('that an operator has not ended', async () => {
    const b = browser();
    const page = await openConnections(b, PERSON);
    await world.operator.auth.endUserSessions({ email: ANN }, await world.operate(ACME));
    expect((await requestOwnToken(b, page)).status).toBe(303);
    expect(await tokensOf()).toEqual([]);
  });
});

describe('an organization without own tokens', () => {
  it('shows no form and makes none', async () => {
    const b = browser();
    const page = await openConnections(b, PERSON);
    await setOwnTokens(false);
    expect((await b.open('/connections')).page.text).not.toContain('Your tokens');
    const refused = await requestOwnToken(b, page);
    expect(refused.status).toBe(403);
    expect(refused.text).toContain('Ask your administrator for a token.');
    await setOwnTokens(true);
    expect(await tokensOf()).toEqual([]);
  });

  it.each([
    ['a command', (id: string) => setOwnTokens(false, id)],
    ['an import', (id: string) => world.load([organization(id, { own_tokens: false })])],
  ])('has lost those of before by %s, for good, and no other tokens', async (_name, turnOff) => {
    const { accessToken } = await make();
    const twins = await make(TWIN);
    const { tokens } = await connectAssistant(browser(), PERSON);
    const request = { email: ANN, scopes: [], expiresInSeconds: 0 };
    const operators = await world.operator.auth.createToken(request, await world.operate(ACME));
    await turnOff(ACME);
    expect(await isGood(accessToken)).toBe(false);
    await setOwnTokens(true);
    expect(await isGood(accessToken)).toBe(false);
    for (const other of [twins.accessToken, tokens.access_token, operators.accessToken]) expect(await isGood(other)).toBe(true);
    const [entry] = await world.rows(
      `select changes from auth.audit where organization = $1 and changes ? 'own_tokens' and changes->'own_tokens'->>'to' = 'false'
        order by audit_id desc limit 1`,
      [ACME],
    );
    expect(entry).toEqual({ changes: { own_tokens: { from: true, to: false } } });
  });
});
