import { decodeJwt, decodeProtectedHeader } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TOOLS_URL } from '@crs/testing/world';
import { ANN, organization, startAuthWorld, user, type AuthWorld } from './_fixtures.ts';
import { Browser, connectAssistant, RESOURCE, refresh } from './_sign-in.ts';

const PASSWORD = 'correct horse battery';
const PERSON = { organization: 'acme', email: ANN, password: PASSWORD };
const ALL = 'calls:read projects:read entities:read';

let world: AuthWorld;
beforeAll(async () => {
  world = await startAuthWorld([organization('acme'), user('acme', ANN, { password: PASSWORD })]);
});
afterAll(() => world?.close());

const browser = () => new Browser(world.stack.addresses.authHttp);

describe('a person who connects an assistant', () => {
  it('signs in, allows it, and the assistant has tokens for the tools that auth itself takes', async () => {
    const b = browser();
    const { clientId, callback, tokens } = await connectAssistant(b, PERSON);
    expect(Object.fromEntries(callback.searchParams)).toEqual({
      code: expect.any(String),
      state: 'a-state',
      iss: TOOLS_URL,
    });
    expect(tokens).toEqual({
      access_token: expect.any(String),
      refresh_token: expect.any(String),
      expires_in: 600,
      scope: ALL,
      token_type: 'Bearer',
    });
    expect(decodeProtectedHeader(tokens.access_token)).toMatchObject({ alg: 'EdDSA', typ: 'at+jwt' });
    const claims = decodeJwt(tokens.access_token);
    expect(claims).toMatchObject({ iss: TOOLS_URL, aud: RESOURCE, organization: 'acme', scope: ALL, client_id: clientId });
    const known = await world.auth.authenticateToken({ accessToken: tokens.access_token });
    expect(known).toMatchObject({ organizationId: 'acme', userId: claims.sub, scopes: ALL.split(' ') });

    const renewed = await refresh(b, clientId, tokens.refresh_token);
    expect(renewed.status).toBe(200);
    expect(renewed.body.refresh_token).not.toBe(tokens.refresh_token);
    await world.auth.authenticateToken({ accessToken: renewed.body.access_token });
  });
});
