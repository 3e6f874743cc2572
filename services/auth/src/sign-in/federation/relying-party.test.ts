import { expect, test } from 'vitest';
import { authorizationUrl, newChecks } from './relying-party.ts';

const issuerOf = (tenant: string) => `https://login.microsoftonline.com/${tenant}/v2.0`;

/** The authorization URL of a provider whose metadata name this issuer. */
function urlFrom(named: string): Promise<string> {
  const metadata = { issuer: named, authorization_endpoint: 'https://login.microsoftonline.com/authorize' };
  const party = {
    issuer: issuerOf('ours'),
    clientId: 'crs',
    clientSecret: undefined,
    redirectUri: 'https://tools.example/sign-in/callback/acme',
    fetch: async () => Response.json(metadata),
  };
  return authorizationUrl(party, newChecks(), '');
}

test('a multi-tenant provider of which openid-client accepts any issuer must name the configured one', async () => {
  expect(await urlFrom(issuerOf('ours'))).toContain('https://login.microsoftonline.com/authorize?');
  await expect(urlFrom(issuerOf('theirs'))).rejects.toMatchObject({ reason: 'invalid answer' });
});
