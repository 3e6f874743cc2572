import { beforeAll, describe, expect, it } from 'vitest';
import { sharedWorld, TOOLS_URL, type World } from '@crs/testing/world';
import { authorizePath, Browser, pkce, register } from './_sign-in.ts';

let world: World;
beforeAll(async () => {
  world = await sharedWorld();
});

const browser = () => new Browser(world.stack.addresses.authHttp);

describe('requests with forged hosts', () => {
  it('do not change any address in a response', async () => {
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
        grant_types_supported: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:jwt-bearer'],
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
