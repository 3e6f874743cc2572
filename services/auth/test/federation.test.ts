import { decodeJwt } from 'jose';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Database } from '@crs/kit/data/database';
import { createLogger } from '@crs/kit/process/log';
import { checkPassword } from '../src/sign-in/passwords.ts';
import { ANN_OF_GLOBEX, BOB_OF_GLOBEX, sharedFederation, type FederationWorld } from './_federation.ts';
import { ANN, BOB, serviceUrl } from './_fixtures.ts';
import { CLIENT } from './_identity-provider.ts';
import { askedBy, hiddenFields, type Answer } from './_sign-in.ts';

/** Two organizations with the same people. Each has its own provider. */
let world: FederationWorld;
beforeAll(async () => {
  world = await sharedFederation();
});
beforeEach(() => world.reset());

const ann = { sub: 'ann-1', email: ANN, email_verified: true };
const annOfGlobex = { ...ann, email: ANN_OF_GLOBEX };

describe('a user of an organization with a provider of its own', () => {
  it('is sent to the provider, comes back signed in, and the assistant gets its tokens', async () => {
    world.idps.acme.person = ann;
    const entries = await world.auditOf(async () => {
      const { accessToken, page } = await world.connect('acme');
      expect(page.text).toContain(`Continue with <bdi>${world.idps.acme.host}</bdi>`);
      expect(page.text).not.toContain('name="password"');
      expect(await world.whoIs(accessToken)).toEqual({ organization: 'acme', email: ANN });
    });
    const { issuer } = world.idps.acme;
    expect(entries).toEqual([
      `acme ${ANN} identity.link ann-1 at ${issuer} done`,
      `acme ${ANN} sign-in.accept ${ANN} by ${issuer} done 127.0.0.1`,
      expect.stringMatching(`^acme ${ANN} connection.create grant_\\w+ Claude done$`),
    ]);
  });

  it('is sent with the parameters that the standards require', async () => {
    const { externalUrl } = await world.begin('acme');
    expect(externalUrl.origin + externalUrl.pathname).toBe(`${world.idps.acme.issuer}/auth`);
    expect(Object.fromEntries(externalUrl.searchParams)).toEqual({
      client_id: CLIENT.clientId,
      redirect_uri: 'http://tools.example/sign-in/callback/acme',
      response_type: 'code',
      scope: 'openid email',
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
    });
  });

  it('may first name the organization on our page, and needs no password', async () => {
    world.idps.acme.person = ann;
    const browser = world.browser();
    const { page } = await browser.open(world.authorizePath());
    const email = 'ann@unlisted.example';
    const unknown = await browser.submit(page, { email });
    const named = await browser.submit(unknown.page, { email, organization: 'ACME' });
    expect(named.page.text).toContain(`Continue with <bdi>${world.idps.acme.host}</bdi>`);
    expect(named.page.text).not.toContain('name="password"');
    const { externalUrl } = await browser.submit(named.page, {});
    expect(externalUrl!.searchParams.get('login_hint')).toBe(email);
    const back = await world.idps.acme.signIn(externalUrl!);
    const consent = await browser.open(back.pathname + back.search);
    expect(consent.page.text).toContain('value="allow"');
  });

  it("is recognized by the provider's account id afterwards, even if the e-mail changes", async () => {
    world.idps.acme.person = ann;
    await world.connect('acme');
    for (const person of [
      { sub: 'ann-1', email: 'ann.married@elsewhere.example', email_verified: true },
      { sub: 'ann-1', email: BOB, email_verified: true },
      { sub: 'ann-1', email: ANN, email_verified: false },
      { sub: 'ann-1' },
    ]) {
      world.idps.acme.person = person;
      expect(await world.whoIs((await world.connect('acme')).accessToken)).toEqual({ organization: 'acme', email: ANN });
    }
    expect(await world.links()).toEqual([`acme ${world.idps.acme.issuer} ann-1 ${ANN}`]);
  });

  it('is found by an e-mail in any case', async () => {
    world.idps.acme.person = { ...ann, email: 'ANN@Example.COM' };
    expect(await world.whoIs((await world.connect('acme')).accessToken)).toEqual({ organization: 'acme', email: ANN });
  });

  it('is found by the e-mail of userinfo if the id token has none; userinfo is called only the first time', async () => {
    const { issuer, requestedPaths } = world.thin;
    const before = requestedPaths.length;
    await world.setProvider('globex', { ...CLIENT, issuer });
    world.thin.person = annOfGlobex;
    expect(await world.whoIs((await world.connect('globex', world.thin)).accessToken)).toEqual({
      organization: 'globex',
      email: ANN_OF_GLOBEX,
    });
    await world.connect('globex', world.thin);
    expect(requestedPaths.slice(before).filter((path) => path === '/me')).toHaveLength(1);
  });

  it('is signed in at a provider where we are a public client', async () => {
    await world.setProvider('globex', { issuer: world.open.issuer, clientId: CLIENT.clientId });
    world.open.person = annOfGlobex;
    expect(await world.whoIs((await world.connect('globex', world.open)).accessToken)).toMatchObject({ organization: 'globex' });
  });

  it('is signed in at a provider that names its issuer neither in its responses nor in its metadata', async () => {
    await world.setProvider('acme', { ...CLIENT, issuer: world.nameless.issuer });
    world.nameless.person = ann;
    expect(await world.whoIs((await world.connect('acme', world.nameless)).accessToken)).toMatchObject({ email: ANN });
  });

  it('sees and revokes connections after signing in the same way', async () => {
    world.idps.acme.person = ann;
    await world.connect('acme');
    const browser = world.browser();
    const { page } = await browser.open('/connections?organization=acme');
    const { externalUrl } = await browser.submit(page, {});
    const back = await world.idps.acme.signIn(externalUrl!);
    const list = await browser.open(back.pathname + back.search);
    expect(list.path).toBe('/connections');
    expect(list.page.text).toContain(ANN);
    expect(list.page.text).toContain('Claude');
  });

  it("keeps the sign-in's state in a cookie that no script and no other host can read", async () => {
    const browser = world.secureBrowser();
    const { page } = await browser.open('/connections?organization=acme');
    const sent = await browser.send('/connections/sign-in', { form: hiddenFields(page) });
    const cookie = sent.headers.getSetCookie().find((line) => line.startsWith('__Host-crs_provider='));
    expect(
      cookie!
        .split('; ')
        .slice(1)
        .map((part) => part.replace(/=.*GMT/, ''))
        .sort(),
    ).toEqual(['expires', 'httponly', 'path=/', 'samesite=lax', 'secure']);
    const [, expires] = /expires=([^;]+)/.exec(cookie!)!;
    expect(Date.parse(expires!) - Date.now()).toBeLessThanOrEqual(600_000);
    const { state, nonce } = Object.fromEntries(new URL((await browser.follow(sent)).externalUrl!).searchParams);
    for (const secret of [state!, nonce!, 'acme'])
      expect(Buffer.from(cookie!.split(/[=;]/)[1]!, 'base64url').toString('latin1')).not.toContain(secret);
  });

  it('is linked once, even by many sign-ins at the same time', async () => {
    world.idps.acme.person = ann;
    const signIns = await Promise.all(Array.from({ length: 4 }, () => world.begin('acme')));
    const pages = await Promise.all(
      signIns.map(async ({ browser, externalUrl }) => {
        const back = await world.idps.acme.signIn(externalUrl);
        return (await browser.open(back.pathname + back.search)).page;
      }),
    );
    for (const page of pages) expect(page.text).toContain('value="allow"');
    expect(await world.links()).toHaveLength(1);
  });

  it('can continue the sign-in at any replica', async () => {
    world.idps.acme.person = ann;
    const { accessToken } = await world.connect('acme', world.idps.acme, world.browserOfReplicas());
    expect(await world.whoIs(accessToken)).toEqual({ organization: 'acme', email: ANN });
  });
});

describe('two organizations with the same people', () => {
  it('have separate users and links', async () => {
    const { acme, globex } = world.idps;
    acme.person = ann;
    globex.person = { sub: 'ann-1', email: BOB_OF_GLOBEX, email_verified: true };
    const [one, other] = [await world.connect('acme'), await world.connect('globex')];
    expect(await world.whoIs(one.accessToken)).toEqual({ organization: 'acme', email: ANN });
    expect(await world.whoIs(other.accessToken)).toEqual({ organization: 'globex', email: BOB_OF_GLOBEX });
    expect(await world.links()).toEqual([`acme ${acme.issuer} ann-1 ${ANN}`, `globex ${globex.issuer} ann-1 ${BOB_OF_GLOBEX}`]);
  });

  it('may share a provider and stay separate', async () => {
    const { acme } = world.idps;
    await world.setProvider('globex', { ...CLIENT, issuer: acme.issuer });
    acme.person = ann;
    await world.connect('acme');
    acme.person = annOfGlobex;
    const { accessToken } = await world.connect('globex', acme);
    expect(await world.whoIs(accessToken)).toEqual({ organization: 'globex', email: ANN_OF_GLOBEX });
    expect(await world.links()).toHaveLength(2);
  });
});

describe('the domain of an e-mail', () => {
  const pageAfter = async (email: string, path = world.authorizePath()) => {
    const browser = world.browser();
    const { page } = await browser.open(path);
    return (await browser.submit(page, { email })).page;
  };

  it('leads to the one organization that lists it, and to no other', async () => {
    expect((await pageAfter('nobody@GLOBEX.example')).text).toContain(`Continue with <bdi>${world.idps.globex.host}</bdi>`);
    expect((await pageAfter(ANN, '/connections')).text).toContain(`Continue with <bdi>${world.idps.acme.host}</bdi>`);
    for (const domain of ['mail.acme.example', 'acme.example.evil.test', 'nowhere.example'])
      expect(askedBy(await pageAfter(`ann@${domain}`)), domain).toEqual(['email', 'organization']);
  });

  it('is ignored if the person has named an organization', async () => {
    const page = await pageAfter('ann@globex.example', `${world.authorizePath()}&organization=nowhere`);
    expect([askedBy(page), page.text.includes('<bdi>nowhere</bdi>')]).toEqual([['email', 'password'], true]);
  });

  it('is ignored once its organization has no provider', async () => {
    await world.setProvider('globex', { issuer: '' });
    expect(askedBy(await pageAfter('ann@globex.example'))).toEqual(['email', 'organization']);
  });
});

describe('the default organization', () => {
  const pageAfter = async (email: string) => {
    const browser = world.browserOfDefault();
    const { page } = await browser.open('/connections');
    return (await browser.submit(page, { email })).page;
  };
  const namesOrganization = (page: Answer, organization: string) => page.text.includes(`<bdi>${organization}</bdi>`);

  it('is not assumed for people whose domain belongs to another organization', async () => {
    await world.setProvider('acme', { issuer: '' });
    const page = await pageAfter('ann@globex.example');
    expect(namesOrganization(page, 'globex')).toBe(true);
    expect(page.text).toContain(`Continue with <bdi>${world.idps.globex.host}</bdi>`);
    expect(namesOrganization(await pageAfter('ann@unlisted.example'), 'acme')).toBe(true);
  });

  it('is assumed for nobody while it has a provider, because its domains identify its people', async () => {
    expect((await pageAfter(ANN)).text).toContain(`Continue with <bdi>${world.idps.acme.host}</bdi>`);
    const page = await pageAfter('ann@unlisted.example');
    expect([askedBy(page), namesOrganization(page, 'acme')]).toEqual([['email', 'organization'], false]);
  });

  it('shows the same page for an account of another organization as for an unknown e-mail', async () => {
    for (const tenant of ['acme', 'globex'] as const) await world.setProvider(tenant, { issuer: '' });
    const [known, unknown] = await Promise.all([ANN_OF_GLOBEX, 'eve@globex.example'].map(pageAfter));
    const withoutEmail = ({ text }: Answer) =>
      text.replaceAll(/(ann|eve)@globex.example/g, '').replace(/name="csrf" value="[^"]*"/, '');
    expect(withoutEmail(known!)).toBe(withoutEmail(unknown!));
    expect(namesOrganization(known!, 'acme')).toBe(true);
  });
});

describe('passwords', () => {
  it('are refused while the organization has a provider, and accepted again without one', async () => {
    const withPassword = async (tenant: string) => {
      const browser = world.browser();
      const { page } = await browser.open(world.authorizePath());
      return browser.submit(page, { organization: tenant, email: ANN, password: world.password });
    };
    expect((await withPassword('acme')).page.text).toContain(`Continue with <bdi>${world.idps.acme.host}</bdi>`);
    await world.setProvider('acme', { issuer: '' });
    expect((await withPassword('acme')).page.text).toContain('value="allow"');
  });

  it('are refused even if one is sent while the provider is being set', async () => {
    const log = createLogger('auth', { level: 'silent' });
    const db = new Database({ name: 'auth', url: serviceUrl(world.databaseUrl), maxConnections: 1, log, pipeline: true });
    const credentials = { organization: 'acme', email: ANN, password: world.password, address: '127.0.0.1' };
    expect(await checkPassword({ db }, credentials)).toEqual({ kind: 'refused' });
    await world.setProvider('acme', { issuer: '' });
    expect(await checkPassword({ db }, credentials)).toMatchObject({ kind: 'accepted' });
    await db.close();
  });
});

it('no log line and no audit entry has the client secret, codes or tokens', async () => {
  world.idps.acme.person = ann;
  const { accessToken, back } = await world.connect('acme');
  expect(decodeJwt(accessToken)['organization']).toBe('acme');
  const written = world.log.join('') + JSON.stringify(await world.rows('select audit::text from auth.audit'));
  for (const secret of [CLIENT.clientSecret, back.searchParams.get('code')!, accessToken]) expect(written).not.toContain(secret);
});
