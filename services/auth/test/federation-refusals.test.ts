import { generateKeyPair } from 'jose';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { TOOLS_URL } from '@crs/testing/world';
import { sharedFederation, textOf, type FederationWorld } from './_federation.ts';
import { ANN } from './_fixtures.ts';
import { startHostileProvider } from './_hostile-provider.ts';
import { CLIENT, type Forgery, type Person } from './_identity-provider.ts';

let world: FederationWorld;
beforeAll(async () => {
  world = await sharedFederation();
});
beforeEach(() => world.reset());

const ann: Person = { sub: 'ann-1', email: ANN, email_verified: true };
const issuerOf = (tenant: 'acme' | 'globex') => world.idps[tenant].issuer;

const comeBack = (change?: (answer: URL) => void) => world.comeBackToAcme(change);
const refusal = (reason: string) => world.refusalOf(reason);
const setDisabled = async (disabled: boolean) =>
  world.operator.auth.setUserDisabled({ email: ANN, disabled }, await world.operate('acme'));

const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
const swapClaims = (token: string, claims: object) => token.replace(/\.[^.]+/, `.${encode(claims)}`);
const swapHeader = (token: string, header: object) => token.replace(/^[^.]+(.*)\.[^.]+$/, `${encode(header)}$1.`);

describe('a sign-in is refused', () => {
  it.each<[string, Person, string, string]>([
    ['no e-mail', { sub: 'ann-1', email_verified: true }, 'unverified e-mail (ann-1: email is missing)', 'has not verified'],
    [
      'an invalid e-mail',
      { ...ann, email: 'Ann <ann@example.com>' },
      'unverified e-mail (ann-1: email is missing)',
      'has not verified',
    ],
    ['a foreign domain', { ...ann, email: 'ann@example.org' }, 'foreign domain (ann-1)', 'does not belong to this organization'],
    [
      "a subdomain of the organization's domain",
      { ...ann, email: 'ann@mail.example.com' },
      'foreign domain (ann-1)',
      'does not belong to this',
    ],
    [
      "a domain that begins with the organization's domain",
      { ...ann, email: 'ann@example.com.evil.test' },
      'foreign domain (ann-1)',
      'does not belong to this',
    ],
    [
      'an unknown e-mail',
      { ...ann, email: 'x@acme.example' },
      'unknown e-mail (x@acme.example)',
      'This organization has no user',
    ],
  ])('for an account with %s', async (_, person, reason, text) => {
    world.idps.acme.person = person;
    const { page, entries } = await comeBack();
    expect(page).toMatch(/^403 Sign in to acme/);
    expect(page).toContain(text);
    expect(entries).toEqual(refusal(reason));
    expect(await world.links()).toEqual([]);
  });

  it.each<[string, Forgery]>([
    ['that another key has signed', async (claims, sign) => sign(claims, (await generateKeyPair('ES256')).privateKey)],
    ['that was changed after it was signed', async (claims, sign) => swapClaims(await sign(claims), { ...claims, sub: 'ann-2' })],
    ['without a signature', async (claims, sign) => swapHeader(await sign(claims), { alg: 'none' })],
    ['for another client', async (claims, sign) => sign({ ...claims, aud: 'another-client' })],
    ['of another issuer', async (claims, sign) => sign({ ...claims, iss: issuerOf('globex') })],
    ['of another sign-in', async (claims, sign) => sign({ ...claims, nonce: 'of another sign-in' })],
    ['that has expired', async (claims, sign) => sign({ ...claims, exp: claims.iat! - 3_600 })],
  ])('for an id token %s', async (_, forgery) => {
    world.idps.acme.person = ann;
    world.idps.acme.forgery = forgery;
    try {
      const { page, entries } = await comeBack();
      expect(page).not.toContain('value="allow"');
      expect(entries).toEqual([expect.stringContaining('acme sign-in sign-in.refuse invalid answer')]);
      expect(await world.links()).toEqual([]);
    } finally {
      world.idps.acme.forgery = undefined;
    }
  });

  it('for an account whose e-mail belongs to a user linked to another account', async () => {
    world.idps.acme.person = ann;
    await world.connect('acme');
    world.idps.acme.person = { ...ann, sub: 'ann-2' };
    const { page, entries } = await comeBack();
    expect(page).toContain('signs in with another account');
    expect(entries).toEqual(refusal(`linked to another account (${ANN})`));
    expect(await world.links()).toEqual([`acme ${issuerOf('acme')} ann-1 ${ANN}`]);

    await world.operator.auth.unlinkUser({ email: ANN }, await world.operate('acme'));
    expect(await world.whoIs((await world.connect('acme')).accessToken)).toMatchObject({ email: ANN });
    expect(await world.links()).toEqual([`acme ${issuerOf('acme')} ann-2 ${ANN}`]);
  });

  it('for a disabled user, linked or not', async () => {
    world.idps.acme.person = ann;
    await setDisabled(true);
    expect((await comeBack()).entries).toEqual(refusal(`disabled user (${ANN})`));
    await setDisabled(false);
    await world.connect('acme');
    await setDisabled(true);
    const { page, entries } = await comeBack();
    expect(page).toContain('Your user account is disabled.');
    expect(entries).toEqual(refusal('disabled user (ann-1)'));
    await setDisabled(false);
  });

  it('if the provider refuses it', async () => {
    world.idps.acme.person = undefined;
    const { page, entries } = await comeBack();
    expect(page).toContain('did not let you in');
    expect(entries).toEqual(refusal('provider error (authorization response from the server is an error (access_denied))'));
  });

  it('for one account, and the person can then continue with another', async () => {
    world.idps.acme.person = { ...ann, email: 'ann@example.org' };
    const { browser, externalUrl } = await world.begin('acme');
    const back = await world.idps.acme.signIn(externalUrl);
    const { page } = await browser.open(back.pathname + back.search);
    world.idps.acme.person = ann;
    const again = await browser.submit(page, {});
    const backAgain = await world.idps.acme.signIn(again.externalUrl!);
    expect((await browser.open(backAgain.pathname + backAgain.search)).page.text).toContain('value="allow"');
  });
});

describe('a hostile provider', () => {
  /**
   * Globex's provider is hostile. Its attacker begins a sign-in at acme and keeps the address of acme's provider. A victim with a session at
   * that provider begins a sign-in at globex, and the hostile provider sends the browser on to the attacker's address.
   * @param redirectTo whose redirect URI the authorization request names
   * @returns the code that the hostile provider receives, and whether the attacker can sign in with it
   */
  const mixUp = async (redirectTo: 'acme' | 'globex') => {
    const { nameless } = world;
    nameless.person = ann;
    await world.setProvider('acme', { ...CLIENT, issuer: nameless.issuer });
    const hostile = await startHostileProvider(world.spare.port);
    try {
      await world.setProvider('globex', { clientId: 'any', issuer: hostile.issuer });
      const [attacker, victim] = [await world.begin('acme'), await world.begin('globex')];
      const address = new URL(attacker.externalUrl);
      address.searchParams.set('state', victim.externalUrl.searchParams.get('state')!);
      address.searchParams.set('redirect_uri', `${TOOLS_URL}/sign-in/callback/${redirectTo}`);
      const back = await nameless.signIn(address);
      const entries = await world.auditOf(() => victim.browser.open(back.pathname + back.search));
      const code = hostile.received[0]?.form.get('code');
      const answer = new URLSearchParams({ code: code ?? '', state: attacker.externalUrl.searchParams.get('state')! });
      const { page } = await attacker.browser.open(`/sign-in/callback/acme?${answer.toString()}`);
      return { code, isSignedIn: page.text.includes('value="allow"'), entries };
    } finally {
      await hostile.stop();
    }
  };
  const refusalOf = (reason: string) =>
    `globex sign-in sign-in.refuse ${reason} at https://localhost:${world.spare.port} unauthenticated 127.0.0.1`;

  it("gets no code of another organization's provider, although neither provider names its issuer", async () => {
    expect(await mixUp('acme')).toEqual({
      code: undefined,
      isSignedIn: false,
      entries: [refusalOf('redirect URI of another organization')],
    });
  });

  it("can't use a code that another organization's provider has sent to its redirect URI", async () => {
    expect(await mixUp('globex')).toEqual({
      code: expect.any(String),
      isSignedIn: false,
      entries: [refusalOf('invalid answer (server responded with an error in the response body (invalid_grant))')],
    });
  });

  it("can't use its metadata to direct us to the allowed host of another organization's provider", async () => {
    const { globex } = world.idps;
    const foreign = { token_endpoint: `${globex.issuer}/token`, jwks_uri: `${globex.issuer}/jwks` };
    const hostile = await startHostileProvider(world.spare.port, foreign);
    try {
      await world.setProvider('acme', { clientId: 'any', issuer: hostile.issuer });
      const { browser, externalUrl } = await world.begin('acme');
      const path = `/sign-in/callback/acme?${new URLSearchParams({ code: 'any', state: externalUrl.searchParams.get('state')! }).toString()}`;
      const before = globex.requestedPaths.length;
      const entries = await world.auditOf(() => browser.open(path));
      expect(globex.requestedPaths.slice(before)).toEqual([]);
      expect(entries).toEqual([expect.stringMatching(/^acme sign-in sign-in\.refuse provider away \(port \d+ is not 443\) at /)]);
    } finally {
      await hostile.stop();
    }
  });
});

describe('refused sign-ins', () => {
  it('share one audit entry per reason and minute, whatever the addresses', async () => {
    world.idps.acme.person = { ...ann, email: 'ann@example.org' };
    const { browser } = await world.begin('acme', world.browserOfReplicas());
    const addresses = Array.from({ length: 30 }, (_, i) => `203.0.113.${i + 1}`);
    await world.auditOf(async () => {
      for (const address of addresses)
        await browser.send('/sign-in/callback/acme?state=wrong', { headers: { 'x-forwarded-for': address } });
      await world.comeBack('acme');
    });
    const rows = await world.rows<{ target: string; address: string; count: number; entries: number }>(
      `select organization, target, outcome, sum(count)::int as count, count(*)::int as entries, min(address) as address
        from auth.audit where action = 'sign-in.refuse' group by 1, 2, 3 order by 2`,
    );
    // A new minute may have begun meanwhile.
    const entries = expect.toSatisfy((n: number) => n <= 2);
    const outcome = 'unauthenticated';
    const at = `at ${issuerOf('acme')}`;
    expect(rows).toEqual([
      { organization: 'acme', target: `foreign domain (ann-1) ${at}`, outcome, count: 1, entries, address: '127.0.0.1' },
      { organization: 'acme', target: `state mismatch ${at}`, outcome, count: 30, entries, address: '203.0.113.1' },
    ]);
  });
});

describe("a provider's callback", () => {
  const over = /^400 Error 400 This sign-in has ended/;

  it('with another state is refused', async () => {
    world.idps.acme.person = ann;
    for (const change of [
      (answer: URL) => answer.searchParams.set('state', 'another'),
      (answer: URL) => answer.searchParams.delete('state'),
    ]) {
      const { page, entries } = await comeBack(change);
      expect(page).toMatch(over);
      expect(entries).toEqual(refusal('state mismatch'));
    }
  });

  it('with another nonce is refused', async () => {
    world.idps.acme.person = ann;
    const { browser, externalUrl } = await world.begin('acme');
    externalUrl.searchParams.set('nonce', 'of-somebody-else');
    const back = await world.idps.acme.signIn(externalUrl);
    let page = '';
    const entries = await world.auditOf(async () => (page = textOf((await browser.open(back.pathname + back.search)).page)));
    expect(page).toContain('sent an invalid answer');
    expect(entries).toEqual([expect.stringMatching(/^acme sign-in sign-in\.refuse invalid answer \(.*"nonce".*\) at /)]);
  });

  it('with another code challenge is refused', async () => {
    world.idps.acme.person = ann;
    const { browser, externalUrl } = await world.begin('acme');
    externalUrl.searchParams.set('code_challenge', 'a'.repeat(43));
    const back = await world.idps.acme.signIn(externalUrl);
    expect(textOf((await browser.open(back.pathname + back.search)).page)).toContain('sent an invalid answer');
  });

  it('is valid once, in the browser that started the sign-in', async () => {
    world.idps.acme.person = ann;
    const { browser, externalUrl } = await world.begin('acme');
    const back = await world.idps.acme.signIn(externalUrl);
    const path = back.pathname + back.search;
    expect(textOf((await world.browser().open(path)).page)).toMatch(over);
    const { browser: other } = await world.begin('acme');
    expect(textOf((await other.open(path)).page)).toMatch(over);
    expect((await browser.open(path)).page.text).toContain('value="allow"');
    expect(browser.cookies.has('crs_provider')).toBe(false);
    expect(textOf((await browser.open(path)).page)).toMatch(over);
  });

  it('is refused with a missing or forged cookie', async () => {
    world.idps.acme.person = ann;
    const { browser, externalUrl } = await world.begin('acme');
    const back = await world.idps.acme.signIn(externalUrl);
    const cookie = browser.cookies.get('crs_provider')!;
    for (const forged of ['', 'x', `${cookie.slice(0, -2)}AA`]) {
      browser.cookies.set('crs_provider', forged);
      expect(textOf((await browser.open(back.pathname + back.search)).page)).toMatch(over);
    }
  });

  it('is refused after the browser began another authorization', async () => {
    world.idps.acme.person = ann;
    const { browser, externalUrl } = await world.begin('acme');
    await browser.open(world.authorizePath());
    const back = await world.idps.acme.signIn(externalUrl);
    expect(textOf((await browser.open(back.pathname + back.search)).page)).toMatch(over);
  });
});
