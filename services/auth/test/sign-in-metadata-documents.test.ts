import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startWorld, TOOLS_URL, type OwnWorld } from '@crs/testing/world';
import { FETCHES } from '../src/sign-in/throttle.ts';
import { ANN, organization, TENANTS, user } from './_fixtures.ts';
import { CERTIFICATE } from './_identity-provider.ts';
import { allow, authorizePath, Browser, CALLBACK, pkce, redeem, refresh, register, signIn } from './_sign-in.ts';

const PERSON = { organization: 'acme', email: ANN, password: 'correct horse battery' };

let world: OwnWorld;
let server: Server;
let origin: string;
/** The served documents, by path. */
const documents = new Map<string, (self: string) => { status?: number; headers?: Record<string, string>; body: unknown }>();

beforeAll(async () => {
  server = createServer(CERTIFICATE, (request, response) => {
    const found = documents.get(request.url!)?.(`${origin}${request.url}`) ?? { status: 404, body: {} };
    response.writeHead(found.status ?? 200, { 'Content-Type': 'application/json', ...found.headers });
    response.end(typeof found.body === 'string' ? found.body : JSON.stringify(found.body));
  });
  await once(server.listen(0, 'localhost'), 'listening');
  const { port } = server.address() as AddressInfo;
  origin = `https://localhost:${port}`;
  world = await startWorld({ cimdAllowHosts: [`localhost:${port}`] });
  await world.load(TENANTS.flatMap((id) => [organization(id), user(id, ANN, { password: PERSON.password })]));
});
afterAll(async () => {
  server?.closeAllConnections();
  server?.close();
  await world?.close();
});

const browser = () => new Browser(world.stack.addresses.authHttp);

describe('a client whose id is the address of its metadata', () => {
  it('connects without registration, and may use any port of its loopback redirect URI', async () => {
    documents.set('/client.json', (self) => ({
      body: {
        client_id: self,
        client_name: 'Visual Studio Code',
        redirect_uris: ['https://vscode.dev/redirect', 'http://127.0.0.1:33418/'],
        grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
        token_endpoint_auth_method: 'none',
        scope: 'openid everything',
      },
    }));
    const clientId = `${origin}/client.json`;
    const b = browser();
    for (const redirectUri of ['https://vscode.dev/redirect', 'http://127.0.0.1:50123/']) {
      const { verifier, challenge } = pkce();
      const callback = await allow(b, authorizePath(clientId, challenge, { redirect_uri: redirectUri }), PERSON);
      const more = { redirect_uri: redirectUri };
      const { status, body } = await redeem(b, clientId, callback.searchParams.get('code')!, verifier, more);
      expect(status).toBe(200);
      expect(body.refresh_token).toBeTruthy();
    }
    const operator = await world.operator.operator('acme');
    const { tokens } = await world.operator.auth.listTokens({}, operator);
    expect(tokens.map(({ client }) => client)).toEqual(['Visual Studio Code', 'Visual Studio Code']);
  });

  it('is shown with the host that serves its metadata, and with no other URL that the metadata names', async () => {
    const elsewhere = 'https://claude.ai/';
    documents.set('/attacker-owned/claude.json', (self) => ({
      body: {
        client_id: self,
        client_name: 'Claude by Anthropic',
        redirect_uris: ['http://127.0.0.1:33418/'],
        token_endpoint_auth_method: 'none',
        ...{ client_uri: elsewhere, logo_uri: elsewhere, policy_uri: elsewhere, tos_uri: elsewhere },
      },
    }));
    const b = browser();
    const path = authorizePath(`${origin}/attacker-owned/claude.json`, pkce().challenge, {
      redirect_uri: 'http://127.0.0.1:50123/',
    });
    const { text } = (await signIn(b, (await b.open(path)).page, PERSON)).page;
    const { host } = new URL(origin);
    expect(text).toContain(
      `<h1>Let <span class="clamp"><bdi>Claude by Anthropic</bdi>,</span> identified by <bdi>${host}</bdi>, read your research?</h1>`,
    );
    expect(text).toMatch(/an app on this computer .*127\.0\.0\.1:50123/);
    expect(text).not.toContain('claude.ai');
  });

  it('may authenticate with its own key, and use each proof once', async () => {
    const { publicKey, privateKey } = await generateKeyPair('ES256');
    const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'k', alg: 'ES256', use: 'sig' }] };
    documents.set('/jwks.json', () => ({ body: jwks }));
    documents.set('/confidential.json', (self) => ({
      body: {
        client_id: self,
        client_name: 'ChatGPT',
        redirect_uris: [CALLBACK],
        token_endpoint_auth_method: 'private_key_jwt',
        token_endpoint_auth_signing_alg: 'ES256',
        jwks_uri: `${origin}/jwks.json`,
      },
    }));
    const clientId = `${origin}/confidential.json`;
    const b = browser();
    const { verifier, challenge } = pkce();
    const callback = await allow(b, authorizePath(clientId, challenge), PERSON);
    const proofUntil = async (end: string) => ({
      client_assertion: await new SignJWT({})
        .setProtectedHeader({ alg: 'ES256', kid: 'k' })
        .setIssuer(clientId)
        .setSubject(clientId)
        .setAudience(TOOLS_URL)
        .setJti(crypto.randomUUID())
        .setIssuedAt()
        .setExpirationTime(end)
        .sign(privateKey),
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    });
    const code = callback.searchParams.get('code')!;
    const proof = await proofUntil('1m');
    expect((await redeem(b, clientId, code, verifier)).body.error).toBe('invalid_client');
    // The ids of proofs are stored until the proofs expire, so later expiries would let a client fill the table.
    for (const end of ['11m', '2d', '100000y'])
      expect((await redeem(b, clientId, code, verifier, await proofUntil(end))).body.error).toBe('invalid_client');
    const { rows } = await world.query(`select 1 from auth.oidc_payloads where model = 'ReplayDetection'`);
    expect(rows).toEqual([]);
    const first = await redeem(b, clientId, code, verifier, proof);
    expect(first.status).toBe(200);
    expect((await refresh(b, clientId, first.body.refresh_token, proof)).body.error).toBe('invalid_client');
  });

  it("can't make us fetch its keys without limit: key fetches count as fetches of the caller's address", async () => {
    const { privateKey } = await generateKeyPair('ES256');
    let fetched = 0;
    documents.set('/no-keys.json', () => {
      fetched++;
      return { body: 'nonsense' };
    });
    const method = { token_endpoint_auth_method: 'private_key_jwt', token_endpoint_auth_signing_alg: 'ES256' };
    const { status, body } = await register(browser(), { ...method, jwks_uri: `${origin}/no-keys.json` });
    expect(status).toBe(201);
    const assertion = await new SignJWT({ iss: body.client_id, sub: body.client_id, aud: TOOLS_URL, jti: 'once' })
      .setProtectedHeader({ alg: 'ES256' })
      .setIssuedAt()
      .setExpirationTime('1m')
      .sign(privateKey);
    const form = {
      grant_type: 'refresh_token',
      refresh_token: 'none',
      client_assertion: assertion,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    };
    const headers = { 'x-forwarded-for': '192.0.2.50' };
    for (let n = 0; n < FETCHES.tries + 10; n++)
      expect((await browser().send('/token', { form, headers })).text).toContain('invalid_client');
    expect(fetched).toBe(FETCHES.tries);
  });

  const VALID = (self: string) => ({ client_id: self, redirect_uris: [CALLBACK] });
  it.each([
    ['/other-id.json', (self: string) => ({ body: { ...VALID(self), client_id: `${self}x` } })],
    ['/secret.json', (self: string) => ({ body: { ...VALID(self), token_endpoint_auth_method: 'client_secret_post' } })],
    ['/redirects.json', () => ({ status: 302, headers: { Location: '/client.json' }, body: {} })],
    ['/too-large.json', (self: string) => ({ body: { ...VALID(self), client_name: 'x'.repeat(20_000) } })],
    ['/no-json', () => ({ body: 'nonsense' })],
    ['/missing', () => ({ status: 404, body: {} })],
    ['/script.json', (self: string) => ({ body: { ...VALID(self), redirect_uris: ['javascript:alert(1)'] } })],
  ])('at %s is refused', async (path, document) => {
    documents.set(path, document);
    const { page, externalUrl } = await browser().open(authorizePath(`${origin}${path}`, pkce().challenge));
    expect(externalUrl).toBeUndefined();
    expect(page.status).toBe(400);
  });

  it.each(['search-ms:query=x', 'shell:startup', 'ms-settings:x', 'mailto:x@evil.example', 'x-apple.systempreferences:x'])(
    'is refused with the redirect URI %s of an operating-system program, and the error says what to use instead',
    async (uri) => {
      const path = `/${encodeURIComponent(uri)}.json`;
      documents.set(path, (self) => ({ body: { ...VALID(self), redirect_uris: [CALLBACK, uri] } }));
      const { page, externalUrl } = await browser().open(authorizePath(`${origin}${path}`, pkce().challenge));
      expect([page.status, externalUrl]).toEqual([400, undefined]);
      expect(page.text).toMatch(/invalid_redirect_uri .*reversed domain name, such as com\.example\.app/);
    },
  );

  it.each([
    'https://127.0.0.1/client.json',
    'https://[::ffff:10.0.0.1]/client.json',
    'https://localhost:1/client.json',
    'https://0x7f.1/x',
  ])('at the internal address %s is not fetched', async (clientId) => {
    const { page, externalUrl } = await browser().open(authorizePath(clientId, pkce().challenge));
    expect(externalUrl).toBeUndefined();
    expect(page.status).toBe(400);
    expect(page.text).not.toMatch(/ECONN|refused|private/);
  });
});
