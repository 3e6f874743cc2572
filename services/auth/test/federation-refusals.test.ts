import { generateKeyPair } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { digestOf } from '@crs/kit/product/api-key';
import { startFederation, textOf, type FederationWorld } from './_federation.ts';
import { ANN, BOB } from './_fixtures.ts';
import { CLIENT, startIdentityProvider, type Forgery, type Person } from './_identity-provider.ts';
import { askedBy } from './_sign-in.ts';

let world: FederationWorld;
beforeAll(async () => {
  world = await startFederation();
});
afterAll(() => world?.close());
beforeEach(() => world.reset());

const ann: Person = { sub: 'ann-1', email: ANN, email_verified: true };
const issuerOf = (tenant: 'acme' | 'globex') => world.idps[tenant].issuer;

/** Comes back from acme's provider. @returns the text of the page and the new audit entries */
async function comeBack(change?: (answer: URL) => void) {
  let page = '';
  const entries = await world.auditOf(async () => (page = textOf(await world.comeBack('acme', change))));
  return { page, entries };
}
const refusal = (reason: string) => [`acme sign-in sign-in.refuse ${reason} at ${issuerOf('acme')} from 127.0.0.1`];
const setDisabled = async (disabled: boolean) =>
  world.operator.auth.setUserDisabled({ email: ANN, disabled }, await world.operate('acme'));

const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
const swapClaims = (token: string, claims: object) => token.replace(/\.[^.]+/, `.${encode(claims)}`);
const swapHeader = (token: string, header: object) => token.replace(/^[^.]+(.*)\.[^.]+$/, `${encode(header)}$1.`);

describe('nobody is signed in', () => {
  it.each<[string, Person, string, string]>([
    ['an e-mail that is not verified', { ...ann, email_verified: false }, 'unverified e-mail (ann-1)', 'has not verified'],
    [
      'an e-mail of which nothing is said',
      { ...ann, email_verified: undefined },
      'unverified e-mail (ann-1)',
      'has not verified',
    ],
    ['an e-mail verified in other words', { ...ann, email_verified: 'true' }, 'unverified e-mail (ann-1)', 'has not verified'],
    ['no e-mail', { sub: 'ann-1', email_verified: true }, 'unverified e-mail (ann-1)', 'has not verified'],
    ['what is no e-mail', { ...ann, email: 'Ann <ann@example.com>' }, 'unverified e-mail (ann-1)', 'has not verified'],
    ['a foreign domain', { ...ann, email: 'ann@example.org' }, 'foreign domain (ann-1)', 'does not belong to this organization'],
    [
      'a domain within the own one',
      { ...ann, email: 'ann@mail.example.com' },
      'foreign domain (ann-1)',
      'does not belong to this',
    ],
    [
      'a domain around the own one',
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
  ])('by %s', async (_, person, reason, text) => {
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
  ])('by an id token %s', async (_, forgery) => {
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

  it('by an e-mail whose user is linked to another account', async () => {
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

  it('as a disabled user, linked or not', async () => {
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

  it('after a refusal of the provider', async () => {
    world.idps.acme.person = undefined;
    const { page, entries } = await comeBack();
    expect(page).toContain('did not let you in');
    expect(entries).toEqual(refusal('provider error (authorization response from the server is an error (access_denied))'));
  });

  it('after a refusal, but the person can go on with another account', async () => {
    world.idps.acme.person = { ...ann, email: 'ann@example.org' };
    const { browser, away } = await world.begin('acme');
    const back = await world.idps.acme.signIn(away);
    const { page } = await browser.open(back.pathname + back.search);
    world.idps.acme.person = ann;
    const again = await browser.submit(page, {});
    const backAgain = await world.idps.acme.signIn(again.away!);
    expect((await browser.open(backAgain.pathname + backAgain.search)).page.text).toContain('value="allow"');
  });
});

describe('another issuer', () => {
  it('does not use the links of the former issuer, which are valid again when that returns', async () => {
    world.idps.acme.person = ann;
    await world.connect('acme');
    await world.setProvider('acme', { ...CLIENT, issuer: issuerOf('globex') });
    const { globex } = world.idps;
    globex.person = { sub: 'ann-1', email: BOB, email_verified: false };
    const { browser, away } = await world.begin('acme');
    const back = await globex.signIn(away);
    expect(textOf((await browser.open(back.pathname + back.search)).page)).toContain('has not verified');
    globex.person = { sub: 'ann-1', email: BOB, email_verified: true };
    expect(await world.whoIs((await world.connect('acme', globex)).accessToken)).toEqual({ organization: 'acme', email: BOB });

    await world.setProvider('acme', { ...CLIENT, issuer: issuerOf('acme') });
    world.idps.acme.person = { sub: 'ann-1' };
    expect(await world.whoIs((await world.connect('acme')).accessToken)).toEqual({ organization: 'acme', email: ANN });
  });

  it('set during a sign-in ends the sign-in, and so does the removal of the provider', async () => {
    world.idps.acme.person = ann;
    for (const issuer of [issuerOf('globex'), '']) {
      await world.reset();
      const { browser, away } = await world.begin('acme');
      const back = await world.idps.acme.signIn(away);
      await world.setProvider('acme', { ...CLIENT, issuer });
      let text = '';
      const entries = await world.auditOf(async () => (text = textOf((await browser.open(back.pathname + back.search)).page)));
      expect(text).toMatch(/^403 .*changed its sign-in/);
      expect(entries).toEqual(refusal('provider changed'));
    }
  });

  it("can't answer in place of the one asked", async () => {
    world.idps.globex.person = ann;
    const { away } = await world.begin('globex');
    const code = (await world.idps.globex.signIn(away)).searchParams.get('code')!;
    world.idps.acme.person = { sub: 'bob-1', email: BOB, email_verified: true };
    const foreign = await comeBack((answer) => answer.searchParams.set('code', code));
    expect(foreign.page).toContain('sent an invalid answer');
    expect(foreign.entries).toEqual(
      refusal('invalid answer (server responded with an error in the response body (invalid_grant))'),
    );
    const mixedUp = await comeBack((answer) => answer.searchParams.set('iss', issuerOf('globex')));
    expect(mixedUp.page).toContain('sent an invalid answer');
    expect(await world.links()).toEqual([]);
  });
});

describe('an answer', () => {
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
    const { browser, away } = await world.begin('acme');
    away.searchParams.set('nonce', 'of-somebody-else');
    const back = await world.idps.acme.signIn(away);
    let page = '';
    const entries = await world.auditOf(async () => (page = textOf((await browser.open(back.pathname + back.search)).page)));
    expect(page).toContain('sent an invalid answer');
    expect(entries).toEqual([expect.stringMatching(/^acme sign-in sign-in\.refuse invalid answer \(.*"nonce".*\) at /)]);
  });

  it('with another code challenge is refused', async () => {
    world.idps.acme.person = ann;
    const { browser, away } = await world.begin('acme');
    away.searchParams.set('code_challenge', 'a'.repeat(43));
    const back = await world.idps.acme.signIn(away);
    expect(textOf((await browser.open(back.pathname + back.search)).page)).toContain('sent an invalid answer');
  });

  it('is valid once, in the browser that asked', async () => {
    world.idps.acme.person = ann;
    const { browser, away } = await world.begin('acme');
    const back = await world.idps.acme.signIn(away);
    const path = back.pathname + back.search;
    expect(textOf((await world.browser().open(path)).page)).toMatch(over);
    const { browser: other } = await world.begin('acme');
    expect(textOf((await other.open(path)).page)).toMatch(over);
    expect((await browser.open(path)).page.text).toContain('value="allow"');
    expect(browser.cookies.has('crs_provider')).toBe(false);
    expect(textOf((await browser.open(path)).page)).toMatch(over);
  });

  it('needs a cookie of ours', async () => {
    world.idps.acme.person = ann;
    const { browser, away } = await world.begin('acme');
    const back = await world.idps.acme.signIn(away);
    const sealed = browser.cookies.get('crs_provider')!;
    for (const forged of ['', 'x', `${sealed.slice(0, -2)}AA`]) {
      browser.cookies.set('crs_provider', forged);
      expect(textOf((await browser.open(back.pathname + back.search)).page)).toMatch(over);
    }
  });

  it('is refused after the browser began another authorization', async () => {
    world.idps.acme.person = ann;
    const { browser, away } = await world.begin('acme');
    await browser.open(world.authorizePath());
    const back = await world.idps.acme.signIn(away);
    expect(textOf((await browser.open(back.pathname + back.search)).page)).toMatch(over);
  });
});

describe('a provider that is away', () => {
  it('leads to a message, at both ends of the sign-in', async () => {
    const away = /exchange failed|ECONNREFUSED/;
    const idp = await startIdentityProvider({ port: world.spare.port });
    idp.person = ann;
    await world.setProvider('acme', { ...CLIENT, issuer: idp.issuer });
    const begun = await world.begin('acme');
    const back = await idp.signIn(begun.away);
    await idp.stop();
    let page = '';
    const entries = await world.auditOf(async () => {
      page = textOf((await begun.browser.open(back.pathname + back.search)).page);
      await expect(world.begin('acme')).rejects.toThrow(/503 Error 503 Sign-in is unavailable/);
    });
    expect(page).toMatch(/^503 .*can’t be reached/);
    expect(entries).toHaveLength(2);
    for (const entry of entries) {
      expect(entry).toMatch(/^acme sign-in sign-in\.refuse provider away \(/);
      expect(entry).toMatch(away);
    }
  });

  it.each([
    ['is in the internal network', 'https://localhost:1', /provider away/],
    ['is at a link-local address', 'https://169.254.169.254', /not public/],
    ['has no address', 'https://nowhere.invalid', /no address/],
  ])('is one that %s', async (_, issuer, detail) => {
    await world.setProvider('acme', { ...CLIENT, issuer });
    const entries = await world.auditOf(() => expect(world.begin('acme')).rejects.toThrow('503'));
    expect(entries).toEqual([expect.stringMatching(detail)]);
  });
});

it('an address with too many requests must wait', async () => {
  const bucket = digestOf('provider:127.0.0.1');
  await world.rows(
    `insert into auth.throttles values ($1, 1000, now() + interval '1 minute') on conflict (bucket) do update set tries = 1000`,
    [bucket],
  );
  await expect(world.begin('acme')).rejects.toThrow('429 Error 429 Too many attempts');
  await world.rows('delete from auth.throttles where bucket = $1', [bucket]);
});

it('an organization that has no provider any more asks for passwords', async () => {
  const browser = world.browser();
  const { page } = await browser.open(`${world.authorizePath()}&organization=acme&login_hint=${ANN}`);
  await world.setProvider('acme', { issuer: '' });
  expect(askedBy((await browser.submit(page, {})).page)).toEqual(['email', 'password']);
});
