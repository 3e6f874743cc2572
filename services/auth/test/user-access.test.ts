import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createToken as createTokenOf } from '@crs/testing/credentials';
import { openDirectory, patch } from '@crs/testing/scim';
import { tenant } from '@crs/testing/world';
import { ANN, BOB, failureOf, organization, sharedAuthWorld, user, type SharedAuthWorld } from './_fixtures.ts';
import { quickHash } from './_quick-hash.ts';
import { authorizePath, Browser, connectAssistant, hiddenFields, pkce, refresh, signIn } from './_sign-in.ts';

const PASSWORD = 'correct horse battery';
const NEW_PASSWORD = 'plum tart on a late tram';
const GLOBEX = tenant('globex');

let world: SharedAuthWorld;
/** Each test has its own organization, so that tests share no users. */
let acme: string;
beforeAll(async () => {
  world = await sharedAuthWorld([organization(GLOBEX), user(GLOBEX, ANN)]);
});
beforeEach(async () => {
  acme = tenant('acme');
  await world.rows('delete from auth.throttles');
  await world.load([organization(acme)]);
  await addUsers(ANN, BOB);
});

/** Adds users with {@link PASSWORD}. */
async function addUsers(...emails: string[]): Promise<void> {
  await world.load(emails.map((email) => user(acme, email)));
  await world.rows('update auth.users set password_hash = $2 where organization = $1 and password_hash is null', [
    acme,
    quickHash(PASSWORD),
  ]);
}

const person = (email = ANN) => ({ organization: acme, email, password: PASSWORD });
const browser = () => new Browser(world.stack.addresses.authHttp);
const isGood = async (accessToken: string) =>
  (await failureOf(world.auth.authenticateToken({ accessToken, audiences: ['calls'] }))) === undefined;
const setDisabled = async (disabled: boolean, email = ANN) =>
  world.operator.auth.setUserDisabled({ email, disabled }, await world.operate(acme));
const setPassword = async (request: { email?: string; password?: string; endConnections?: boolean } = {}) =>
  world.operator.auth.setUserPassword(
    { email: ANN, password: NEW_PASSWORD, endConnections: false, ...request },
    await world.operate(acme),
  );
const endSessions = async (email = ANN) => world.operator.auth.endUserSessions({ email }, await world.operate(acme));
const createToken = (email = ANN, organization = acme) => createTokenOf(world.operator, organization, email);

/** Gives a user every kind of access: a connection with its refresh token, a token from an operator, and a browser session. */
async function gainAccess(email = ANN) {
  const b = browser();
  const { clientId, tokens } = await connectAssistant(b, person(email));
  return { b, clientId, tokens, accessToken: await createToken(email) };
}

/** Whether each kind of access still works. */
async function accessOf({ b, clientId, tokens, accessToken }: Awaited<ReturnType<typeof gainAccess>>) {
  const isSignedIn = async (path: string) => !(await b.open(path)).page.text.includes('name="email"');
  return {
    connection: await isGood(tokens.access_token),
    refreshToken: (await refresh(b, clientId, tokens.refresh_token)).status === 200,
    token: await isGood(accessToken),
    session: await isSignedIn('/connections'),
    authorization: await isSignedIn(authorizePath(clientId, pkce().challenge)),
  };
}
const GOOD = { connection: true, refreshToken: true, token: true, session: true, authorization: true };
const ENDED = { connection: false, refreshToken: false, token: false, session: false, authorization: false };

/** Disables or enables Ann as the organization's directory does. */
async function setActive(active: boolean): Promise<void> {
  const directory = await openDirectory(world.operator, world.stack.addresses.tools, acme);
  await directory('PATCH', `/Users/${await idOf(ANN)}`, patch({ op: 'replace', path: 'active', value: active }));
}

describe('disabling a user', () => {
  it.each([
    ['an operator', setDisabled],
    ['the directory', (disabled: boolean) => setActive(!disabled)],
  ])('as %s does ends sessions, connections and tokens for good: enabling the user revives none', async (_, setDisabled) => {
    const [anns, bobs] = [await gainAccess(), await gainAccess(BOB)];
    const elsewhere = await createToken(ANN, GLOBEX);
    expect(await accessOf(anns)).toEqual(GOOD);
    await setDisabled(true);
    expect(await accessOf(anns)).toEqual(ENDED);
    expect(await isGood(elsewhere)).toBe(true);
    await setDisabled(false);
    expect(await accessOf(anns)).toEqual(ENDED);
    expect(await accessOf(bobs)).toEqual(GOOD);
    expect(await accessOf(await gainAccess())).toEqual(GOOD);
    expect(
      await world.rows(`select 1 from auth.grants where user_id = $1 and revoked_at is null`, [await idOf(ANN)]),
    ).toHaveLength(2);
  });

  it('ends a sign-in whose consent was not given yet', async () => {
    const b = browser();
    const { clientId } = await connectAssistant(b, person());
    const consent = await b.open(authorizePath(clientId, pkce().challenge));
    await setDisabled(true);
    await setDisabled(false);
    const { page, externalUrl } = await b.submit(consent.page, { decision: 'allow' });
    expect([page.status, externalUrl]).toEqual([400, undefined]);
  });

  it('ends a connection and a token that are being made at that moment', async () => {
    const b = browser();
    const { clientId } = await connectAssistant(b, person());
    const { page } = await b.open(authorizePath(clientId, pkce().challenge));
    const disable = `update auth.users set disabled_at = now(), disabled_by = 'operator' where organization = '${acme}' and email = '${ANN}'`;
    const work = () => Promise.all([b.submit(page, { decision: 'allow' }), failureOf(createToken())]);
    const [allowed, created] = await world.meanwhile(disable, work, 2);
    expect(allowed.page.status).toBe(400);
    expect(created?.kind).toBe('failed_precondition');
  });

  it('or deleting the user gives no access to a new user with the same e-mail', async () => {
    const before = await gainAccess();
    const target = { target: { $case: 'email', value: ANN } } as const;
    await world.auth.beginErasure({ target, check: false }, await world.operate(acme));
    expect(await accessOf(before)).toEqual(ENDED);
    expect((await failureOf(setDisabled(false)))?.kind).toBe('not_found');
    await world.operator.auth.finishErasure({ target }, await world.operate(acme));
    await addUsers(ANN);
    expect(await accessOf(before)).toEqual(ENDED);
  });
});

describe('a new password', () => {
  it('replaces the old one and ends browser sessions; connections stay', async () => {
    const before = await gainAccess();
    expect(await setPassword()).toMatchObject({ user: { email: ANN, hasPassword: true }, endedConnections: 0, oidcIssuer: '' });
    expect(await accessOf(before)).toEqual({ ...GOOD, session: false, authorization: false });
    const b = browser();
    const start = await b.open(`/connections?organization=${acme}`);
    expect((await signIn(b, start.page, person())).page.status).toBe(422);
    expect((await signIn(b, start.page, { ...person(), password: NEW_PASSWORD })).path).toBe('/connections');
  });

  it('also ends connections and tokens, if the operator requests it', async () => {
    const before = await gainAccess();
    expect(await setPassword({ endConnections: true })).toMatchObject({ endedConnections: 2 });
    expect(await accessOf(before)).toEqual(ENDED);
  });

  it('admits a user who has used up all attempts', async () => {
    await guess();
    expect(await attempt(browser(), PASSWORD)).toBe(429);
    await setPassword();
    expect(await attempt(browser(), NEW_PASSWORD)).toBe(303);
  });

  it('is audited with the e-mail only', async () => {
    await setPassword({ email: ANN.toUpperCase() });
    const [entry] = await world.rows<{ entry: string }>(
      `select concat_ws(' ', organization, actor, action, target) as entry from auth.audit
        where organization = $1 order by audit_id desc limit 1`,
      [acme],
    );
    expect(entry!.entry).toBe(`${acme} local user.set-password ${ANN}`);
    expect(JSON.stringify(await world.rows('select audit::text from auth.audit')) + world.log.join('')).not.toContain(
      NEW_PASSWORD,
    );
  });

  it('is confirmed with the issuer of the provider, if the organization signs in there instead', async () => {
    await world.rows(
      `update auth.organizations set oidc_issuer = 'https://idp.example', oidc_client_id = 'x', oidc_domains = '{}', oidc_email_proof = 'claim'
        where organization = $1`,
      [acme],
    );
    expect(await setPassword()).toMatchObject({ oidcIssuer: 'https://idp.example' });
  });

  it.each([
    ['short', 'x8f3kQz2pLw', 'must be 12 to 256 characters long'],
    ['long', 'x8f3kQz2pLw4'.repeat(22), 'must be 12 to 256 characters long'],
    ['well known', 'qwertyuiop123', 'is too easy to guess'],
    ['the e-mail', ANN, 'is too easy to guess'],
    ['empty', '', 'must be 12 to 256 characters long'],
  ])('may not be %s', async (_, password, problem) => {
    const refusal = { kind: 'invalid_argument', field: 'password', message: expect.stringContaining(problem) };
    expect(await failureOf(setPassword({ password }))).toMatchObject(refusal);
    expect(await attempt(browser(), PASSWORD)).toBe(303);
  });

  it('needs an existing user', async () => {
    expect((await failureOf(setPassword({ email: 'nobody@example.com' })))?.kind).toBe('not_found');
    expect((await failureOf(endSessions('nobody@example.com')))?.kind).toBe('not_found');
  });
});

describe('ending a user’s sessions', () => {
  it('ends browser sessions, connections and tokens; the user may sign in again', async () => {
    const [anns, bobs] = [await gainAccess(), await gainAccess(BOB)];
    expect(await endSessions()).toMatchObject({ user: { email: ANN, disabled: false }, endedConnections: 2 });
    expect(await accessOf(anns)).toEqual(ENDED);
    expect(await accessOf(bobs)).toEqual(GOOD);
    expect(await accessOf(await gainAccess())).toEqual(GOOD);
    const entries = `select target from auth.audit where organization = $1 and action = 'user.end-sessions'`;
    expect(await world.rows(entries, [acme])).toEqual([{ target: ANN }]);
  });
});

describe('guesses at an account from elsewhere', () => {
  it("don't lock out the browser from which its owner has signed in before", async () => {
    const own = browser();
    expect(await attempt(own, PASSWORD)).toBe(303);
    await guess();
    expect(await attempt(browser(), PASSWORD)).toBe(429);
    expect(await attempt(own, PASSWORD)).toBe(303);
  });

  it("don't lock that browser out from the same address either", async () => {
    const own = browser();
    expect(await attempt(own, PASSWORD)).toBe(303);
    await world.rows('update auth.throttles set tries = 100');
    expect(await attempt(browser(), PASSWORD)).toBe(429);
    expect(await attempt(own, PASSWORD)).toBe(303);
  });

  it('get no more attempts from a browser that has signed in to another account', async () => {
    const own = browser();
    expect(await attempt(own, PASSWORD, BOB)).toBe(303);
    await guess();
    expect(await attempt(own, PASSWORD)).toBe(429);
    expect(await attempt(own, PASSWORD, BOB)).toBe(303);
  });

  it('are limited for each browser that has signed in before, too', async () => {
    const own = browser();
    await attempt(own, PASSWORD);
    for (let i = 0; i < 10; i++) expect(await attempt(own, 'wrong password')).toBe(422);
    expect(await attempt(own, PASSWORD)).toBe(429);
    expect(await attempt(browser(), PASSWORD)).toBe(303);
  });

  it.each([
    ['forged', (cookie: string) => cookie.replace(/.$/, (last) => (last === 'x' ? 'y' : 'x'))],
    ['empty', () => ''],
    ['malformed', () => '~..~'],
  ])('get no more attempts with a cookie that is %s', async (_, change) => {
    const own = browser();
    await attempt(own, PASSWORD);
    own.cookies.set('crs_device', change(own.cookies.get('crs_device')!));
    await guess();
    expect(await attempt(own, PASSWORD)).toBe(429);
  });

  it('lock out a browser that has signed in to five other accounts since, because its cookie holds five', async () => {
    const emails = ['1', '2', '3', '4', '5', '6'].map((name) => `${name}@example.com`);
    await addUsers(...emails);
    const own = browser();
    for (const email of [...emails, emails[1]!]) expect(await attempt(own, PASSWORD, email)).toBe(303);
    expect(own.cookies.get('crs_device')!.split('~')).toHaveLength(5);
    for (const [email, status] of [
      [emails[0]!, 429],
      [emails[1]!, 303],
    ] as const) {
      await guess(email);
      expect(await attempt(own, PASSWORD, email), email).toBe(status);
    }
  });
});

const idOf = async (email: string) => {
  const [row] = await world.rows<{ id: string }>('select user_id as id from auth.users where organization = $1 and email = $2', [
    acme,
    email,
  ]);
  return row!.id;
};

/** Tries a password at `/connections`. @returns the status: 303 signed in, 422 refused, 429 too many tries */
async function attempt(b: Browser, password: string, email = ANN, address = '198.51.100.9'): Promise<number> {
  const headers = { 'x-forwarded-for': address };
  const page = await b.send(`/connections?organization=${acme}`, { headers });
  // A browser that is signed in shows its list; the form is the same for everybody.
  const form = { organization: acme, email, password, csrf: hiddenFields(page)['csrf']! };
  return (await b.send('/connections/sign-in', { form, headers })).status;
}

/** Thirteen tries by browsers that have never signed in to the account. */
async function guess(email = ANN): Promise<void> {
  for (let i = 0; i < 13; i++) await attempt(browser(), `wrong password ${i}`, email, '203.0.113.7');
}
