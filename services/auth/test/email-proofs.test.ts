import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sharedFederation, type FederationWorld } from './_federation.ts';
import { ANN, failureOf } from './_fixtures.ts';
import { CLIENT, type Person } from './_identity-provider.ts';

/** An account as Microsoft Entra describes it: without `email_verified`. */
const entra: Person = { sub: 'ann-1', email: ANN };

let world: FederationWorld;
beforeAll(async () => {
  world = await sharedFederation();
});
beforeEach(() => world.reset());

const prove = (emailProof: string) =>
  world.setProvider('acme', { ...CLIENT, issuer: world.idps.acme.issuer, domains: ['example.com'], emailProof });

describe.each<[proof: string, person: Person, missing: string | undefined]>([
  ['claim', { ...entra, email_verified: true }, undefined],
  ['claim', entra, 'email_verified is missing'],
  ['claim', { ...entra, email_verified: false }, 'email_verified is not true'],
  ['claim', { ...entra, email_verified: 'true' }, 'email_verified is not true'],
  ['claim', { ...entra, xms_edov: true }, 'email_verified is missing'],
  ['xms_edov', { ...entra, email_verified: true }, undefined],
  ['xms_edov', { ...entra, xms_edov: true }, undefined],
  ['xms_edov', { ...entra, xms_edov: 1 }, undefined],
  ['xms_edov', { ...entra, xms_edov: '1' }, undefined],
  ['xms_edov', { ...entra, xms_edov: 'true' }, undefined],
  ['xms_edov', entra, 'email_verified and xms_edov are missing'],
  ['xms_edov', { ...entra, xms_edov: false }, 'xms_edov is not true'],
  ['xms_edov', { ...entra, xms_edov: '0' }, 'xms_edov is not true'],
  ['xms_edov', { ...entra, xms_edov: 'yes' }, 'xms_edov is not true'],
  ['xms_edov', { ...entra, email_verified: false, xms_edov: true }, 'email_verified is not true'],
  ['issuer', entra, undefined],
  ['issuer', { ...entra, email_verified: false }, 'email_verified is not true'],
  ['issuer', { ...entra, email_verified: 'true' }, 'email_verified is not true'],
  // Anybody can choose any `preferred_username` for their own account.
  ['issuer', { sub: 'ann-1', preferred_username: ANN }, 'email is missing'],
  ['xms_edov', { sub: 'ann-1', preferred_username: ANN, xms_edov: true }, 'email is missing'],
])('with the proof %j, an account with %j', (proof, person, missing) => {
  it(missing === undefined ? 'is linked to the user with its e-mail' : `is refused, because ${missing}`, async () => {
    await prove(proof);
    world.idps.acme.person = person;
    if (missing === undefined) {
      expect(await world.whoIs((await world.connect('acme')).accessToken)).toEqual({ organization: 'acme', email: ANN });
      return;
    }
    const { page, entries } = await world.comeBackToAcme();
    expect(page).toContain(`has not verified your e-mail address. Verify it there, or ask your administrator. (${missing})`);
    expect(entries).toEqual(world.refusalOf(`unverified e-mail (ann-1: ${missing})`));
    expect(await world.links()).toEqual([]);
  });
});

it.each(['claim', 'xms_edov', 'issuer'])(
  'with the proof %j, a guest whose e-mail domain is not listed is refused',
  async (proof) => {
    await prove(proof);
    world.idps.acme.person = { sub: 'ann-1', email: 'ann@example.org', email_verified: true, xms_edov: true };
    expect((await world.comeBackToAcme()).entries).toEqual(world.refusalOf('foreign domain (ann-1)'));
  },
);

it('the xms_edov of userinfo is ignored, because it applies to the e-mail of the id token', async () => {
  await world.setProvider('acme', { ...CLIENT, issuer: world.thin.issuer, domains: ['example.com'], emailProof: 'xms_edov' });
  world.thin.person = { ...entra, xms_edov: true };
  const { browser, externalUrl } = await world.begin('acme');
  const back = await world.thin.signIn(externalUrl);
  expect((await browser.open(back.pathname + back.search)).page.text).toContain('xms_edov are missing');
});

describe('the setting of the proof', () => {
  const proofOf = async () => {
    const { organization } = await world.operator.auth.getOrganization({}, await world.operate('acme'));
    return organization!.oidcProvider?.emailProof;
  };

  it('is "claim" by default, survives other changes, and is reset to "claim" by another issuer', async () => {
    expect(await proofOf()).toBe('claim');
    await prove('issuer');
    await world.setProvider('acme', { domains: ['example.com', 'acme.example'] });
    expect(await proofOf()).toBe('issuer');
    await world.setProvider('acme', { ...CLIENT, issuer: world.idps.globex.issuer });
    expect(await proofOf()).toBe('claim');
  });

  it.each(['', 'email', 'Claim'])('refuses %j', async (proof) => {
    expect(await failureOf(prove(proof))).toMatchObject({ kind: 'invalid_argument', field: 'oidc_email_proof' });
  });

  it('needs a provider', async () => {
    await world.setProvider('acme', { issuer: '' });
    expect(await failureOf(world.setProvider('acme', { emailProof: 'issuer' }))).toMatchObject({ field: 'oidc_issuer' });
  });

  it.each(['common', 'organizations', 'consumers', 'Consumers', '9188040d-6c67-4c5b-b112-36a304b66dad'])(
    'refuses "issuer" for the multi-tenant Entra issuer %s',
    async (name) => {
      const issuer = `https://login.microsoftonline.com/${name}/v2.0`;
      const refusal = { kind: 'invalid_argument', field: 'oidc_issuer' };
      expect(await failureOf(world.setProvider('acme', { ...CLIENT, issuer, emailProof: 'issuer' }))).toMatchObject(refusal);
    },
  );
});
