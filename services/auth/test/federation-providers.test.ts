import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { digestOf } from '@crs/kit/api-key';
import { sharedFederation, textOf, type FederationWorld } from './_federation.ts';
import { ANN, BOB } from './_fixtures.ts';
import { CLIENT, startIdentityProvider, type Person } from './_identity-provider.ts';
import { askedBy } from './_sign-in.ts';

let world: FederationWorld;
beforeAll(async () => {
  world = await sharedFederation();
});
beforeEach(() => world.reset());

const ann: Person = { sub: 'ann-1', email: ANN, email_verified: true };
const issuerOf = (tenant: 'acme' | 'globex') => world.idps[tenant].issuer;

describe('another issuer', () => {
  it('does not use the links of the former issuer, which become valid again if that issuer is restored', async () => {
    world.idps.acme.person = ann;
    await world.connect('acme');
    await world.setProvider('acme', { ...CLIENT, issuer: issuerOf('globex') });
    const { globex } = world.idps;
    globex.person = { sub: 'ann-1', email: BOB, email_verified: false };
    const { browser, externalUrl } = await world.begin('acme');
    const back = await globex.signIn(externalUrl);
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
      const { browser, externalUrl } = await world.begin('acme');
      const back = await world.idps.acme.signIn(externalUrl);
      await world.setProvider('acme', { ...CLIENT, issuer });
      let text = '';
      const entries = await world.auditOf(async () => (text = textOf((await browser.open(back.pathname + back.search)).page)));
      expect(text).toMatch(/^403 .*changed its sign-in/);
      expect(entries).toEqual(world.refusalOf('provider changed'));
    }
  });

  it("can't complete a sign-in that began at the organization's provider", async () => {
    world.idps.globex.person = ann;
    const { externalUrl } = await world.begin('globex');
    const code = (await world.idps.globex.signIn(externalUrl)).searchParams.get('code')!;
    world.idps.acme.person = { sub: 'bob-1', email: BOB, email_verified: true };
    const foreign = await world.comeBackToAcme((answer) => answer.searchParams.set('code', code));
    expect(foreign.page).toContain('sent an invalid answer');
    expect(foreign.entries).toEqual(
      world.refusalOf('invalid answer (server responded with an error in the response body (invalid_grant))'),
    );
    const mixedUp = await world.comeBackToAcme((answer) => answer.searchParams.set('iss', issuerOf('globex')));
    expect(mixedUp.page).toContain('sent an invalid answer');
    expect(await world.links()).toEqual([]);
  });
});

describe('an unavailable provider', () => {
  it('leads to an error page, both when a sign-in starts and when the browser returns', async () => {
    const idp = await startIdentityProvider({ port: world.spare.port });
    idp.person = ann;
    await world.setProvider('acme', { ...CLIENT, issuer: idp.issuer });
    const started = await world.begin('acme');
    const back = await idp.signIn(started.externalUrl);
    await idp.stop();
    let page = '';
    const entries = await world.auditOf(async () => {
      page = textOf((await started.browser.open(back.pathname + back.search)).page);
      await expect(world.begin('acme')).rejects.toThrow(/503 Error 503 Sign-in is unavailable/);
    });
    expect(page).toMatch(/^503 .*can’t be reached/);
    expect(entries[0]).toBe(
      `acme sign-in sign-in.refuse provider away (the exchange failed (ECONNREFUSED)) at ${idp.issuer} unavailable 127.0.0.1`,
    );
    // Only the log has the address that the name resolves to.
    expect(world.log.join('')).toContain('connect ECONNREFUSED 127.0.0.1');
  });

  it.each([
    ['is in the internal network', 'https://localhost:1', /provider away/],
    ['is at a link-local address', 'https://169.254.169.254', /169\.254\.169\.254 has no public address/],
    ['has no address', 'https://nowhere.invalid', /nowhere\.invalid has no public address/],
  ])('is audited with the reason if it %s', async (_, issuer, detail) => {
    await world.setProvider('acme', { ...CLIENT, issuer });
    const entries = await world.auditOf(() => expect(world.begin('acme')).rejects.toThrow('503'));
    expect(entries).toEqual([expect.stringMatching(detail)]);
  });
});

it('an IP address that has started too many sign-ins at providers gets 429', async () => {
  const bucket = digestOf('provider:127.0.0.1');
  await world.rows(
    `insert into auth.throttles values ($1, 1000, now() + interval '1 minute') on conflict (bucket) do update set tries = 1000`,
    [bucket],
  );
  await expect(world.begin('acme')).rejects.toThrow('429 Error 429 Too many attempts');
  await world.rows('delete from auth.throttles where bucket = $1', [bucket]);
});

it('a sign-in form falls back to the password if the provider was removed after the form was opened', async () => {
  const browser = world.browser();
  const { page } = await browser.open(`${world.authorizePath()}&organization=acme&login_hint=${ANN}`);
  await world.setProvider('acme', { issuer: '' });
  expect(askedBy((await browser.submit(page, {})).page)).toEqual(['email', 'password']);
});
