import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { admitsClient } from '../src/store/consents.ts';
import { ANN, failureOf, organization, startAuthWorld, TENANTS, user, type AuthWorld } from './_fixtures.ts';
import { CERTIFICATE } from './_identity-provider.ts';
import {
  allow,
  authorizePath,
  Browser,
  CALLBACK,
  connectAssistant,
  pkce,
  redeem,
  refresh,
  register,
  signIn,
} from './_sign-in.ts';

const PERSON = { organization: 'acme', email: ANN, password: 'correct horse battery' };
const TWIN = { ...PERSON, organization: 'globex' };

let world: AuthWorld;
let server: Server;
let host: string;
/** A client by its metadata document. */
let documentId: string;
beforeAll(async () => {
  server = createServer(CERTIFICATE, (request, response) => {
    response.writeHead(200, { 'Content-Type': 'application/json' });
    const clientId = `https://${host}${request.url}`;
    const metadata = {
      client_id: clientId,
      client_name: 'Listed',
      redirect_uris: [CALLBACK],
      token_endpoint_auth_method: 'none',
    };
    response.end(JSON.stringify(metadata));
  });
  await once(server.listen(0, 'localhost'), 'listening');
  host = `localhost:${(server.address() as AddressInfo).port}`;
  documentId = `https://${host}/client.json`;
  const people = TENANTS.flatMap((id) => [organization(id), user(id, ANN, { password: PERSON.password })]);
  world = await startAuthWorld(people, { cimdAllowHosts: [host] });
});
afterAll(async () => {
  server?.closeAllConnections();
  server?.close();
  await world?.close();
});

const browser = () => new Browser(world.stack.addresses.authHttp);
/** Changes the setting of Acme. Globex admits any client throughout. */
const admit = async (clients: 'any' | 'listed', hosts: string[] = []) => {
  const rest = { allowedFields: undefined, rateLimit: undefined, toolRateLimit: undefined };
  const unchanged = { ...rest, oidcProvider: undefined, assertionIssuers: undefined };
  await world.operator.auth.updateOrganization(
    { settings: { ...unchanged, clients, clientHosts: { hosts } } },
    await world.operate('acme'),
  );
};
beforeEach(() => admit('any'));

const preRegister = async () => {
  const request = { name: 'Chosen', redirectUris: [CALLBACK], withSecret: false };
  const { client } = await world.operator.auth.createClient(request, await world.operate());
  return client!.clientId;
};
const isGood = async (accessToken: string) =>
  (await failureOf(world.auth.authenticateToken({ accessToken, audiences: ['calls'] }))) === undefined;
/** Connects a client that needs no registration. */
async function connect(clientId: string, person = PERSON) {
  const b = browser();
  const { verifier, challenge } = pkce();
  const callback = await allow(b, authorizePath(clientId, challenge), person);
  return redeem(b, clientId, callback.searchParams.get('code')!, verifier);
}
/** Opens the page on which a self-registered client named like the listed one gets consent. */
async function ask(person = PERSON) {
  const b = browser();
  const client = await register(b, { client_name: 'Listed' });
  const clientId: string = client.body.client_id;
  const start = await b.open(authorizePath(clientId, pkce().challenge));
  return { b, clientId, page: (await signIn(b, start.page, person)).page };
}
const grantsOf = (clientId: string) => world.rows('select kind from auth.grants where client_id = $1', [clientId]);

describe('an organization that admits only listed clients', () => {
  it('connects pre-registered clients, and metadata documents of its hosts', async () => {
    const clientId = await preRegister();
    await admit('listed', [host]);
    for (const id of [clientId, documentId]) {
      const { status, body } = await connect(id);
      expect([status, await isGood(String(body.access_token))], id).toEqual([200, true]);
    }
  });

  it('shows whom to ask instead of consent to a self-registered client, whatever its name, and audits it', async () => {
    await admit('listed', [host]);
    const { b, clientId, page } = await ask();
    expect(page.status).toBe(403);
    expect(page.text).toContain('Ask your organization’s administrator');
    expect(page.text).not.toContain('value="allow"');
    const forged = await b.submit(page, { decision: 'allow' });
    expect(forged.page.status).toBe(403);
    expect(await grantsOf(clientId)).toEqual([]);
    const entries = await world.rows(
      `select organization, actor, target, outcome, address from auth.audit where action = 'connection.refuse' and target like '%' || $1`,
      [clientId],
    );
    const entry = { organization: 'acme', actor: 'sign-in', outcome: 'permission_denied', address: b.address };
    expect(entries).toContainEqual({ ...entry, target: `client not listed: ${clientId}` });
    const back = await b.submit(page, { decision: 'deny' });
    expect(back.externalUrl?.searchParams.get('error')).toBe('access_denied');
  });

  it('lets the user sign in to another organization on that page', async () => {
    await admit('listed', [host]);
    const { b, page } = await ask();
    const again = await b.submit(page, { decision: 'switch' });
    const other = await b.open(`${again.path}?organization=globex`);
    expect((await signIn(b, other.page, TWIN)).page.text).toContain('value="allow"');
  });

  it('refuses the metadata document of another host, and names the host to list', async () => {
    await admit('listed', ['claude.ai', 'localhost', `x.${host}`]);
    const b = browser();
    const start = await b.open(authorizePath(documentId, pkce().challenge));
    const { page } = await signIn(b, start.page, PERSON);
    expect(page.status).toBe(403);
    expect(page.text).toContain(`to list <bdi class="clamp">${host}</bdi>`);
  });

  it.each(['operator', 'own'])('still accepts tokens of the kind %s', async (kind) => {
    const request = { email: ANN, scopes: [], expiresInSeconds: 0 };
    const { accessToken, token } = await world.operator.auth.createToken(request, await world.operate('acme'));
    await world.rows('update auth.grants set kind = $2 where grant_id = $1', [token!.tokenId, kind]);
    await admit('listed');
    expect(await isGood(accessToken)).toBe(true);
  });

  it('changes nothing for another organization', async () => {
    await admit('listed');
    expect((await ask(TWIN)).page.text).toContain('value="allow"');
    expect((await connect(documentId, TWIN)).status).toBe(200);
  });
});

describe('a grant of a client that is no longer admitted', () => {
  it('is refused, and works again with its tokens when any client is admitted', async () => {
    const b = browser();
    const { clientId, tokens } = await connectAssistant(b, PERSON);
    const twins = await connectAssistant(browser(), TWIN);
    await admit('listed', [host]);
    expect(await isGood(tokens.access_token)).toBe(false);
    expect(await refresh(b, clientId, tokens.refresh_token)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    expect(await isGood(twins.tokens.access_token)).toBe(true);
    await admit('any');
    expect(await isGood(tokens.access_token)).toBe(true);
    expect((await refresh(b, clientId, tokens.refresh_token)).status).toBe(200);
  });

  it('gets no tokens for a code of before', async () => {
    const b = browser();
    const client = await register(b);
    const clientId: string = client.body.client_id;
    const { verifier, challenge } = pkce();
    const callback = await allow(b, authorizePath(clientId, challenge), PERSON);
    await admit('listed');
    const redeemed = await redeem(b, clientId, callback.searchParams.get('code')!, verifier);
    expect(redeemed).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
  });

  it('is judged by its client if it is managed', async () => {
    const { body } = await connect(documentId);
    const accessToken = String(body.access_token);
    await world.rows(`update auth.grants set kind = 'managed' where grant_id = $1`, [decodeJwt(accessToken)['grant_id']]);
    await admit('listed');
    expect(await isGood(accessToken)).toBe(false);
    await admit('listed', [host]);
    expect(await isGood(accessToken)).toBe(true);
  });
});

describe('the list of hosts', () => {
  it.each([
    ['https://claude.ai/oauth/client.json', true],
    ['https://claude.ai', true],
    ['https://b.example:8443/client.json', true],
    ['client_0123456789', true],
    ['https://b.example/client.json', false],
    ['https://claude.ai:8443/client.json', false],
    ['https://x.claude.ai/client.json', false],
    ['https://claude.ai.evil.example/client.json', false],
    ['https://claude.ai@evil.example/client.json', false],
    ['https://evil.example/claude.ai/', false],
    ['https:/evil.example/claude.ai/', false],
    ['https://evil.example?/claude.ai/', false],
    ['evil//claude.ai/', false],
    ['https://CLAUDE.AI/client.json', false],
    ['https:///claude.ai/', false],
    ['dcr_claude.ai', false],
    ['dcr_client_', false],
    ['', false],
  ])('decides for the client id %j: %j', async (clientId, isAdmitted) => {
    await admit('listed', ['claude.ai', 'b.example:8443']);
    const { text, values = [] } = admitsClient('acme', clientId);
    expect(await world.rows(text, [...values])).toEqual([{ isAdmitted }]);
    const other = admitsClient('globex', clientId);
    expect(await world.rows(other.text, [...other.values!])).toEqual([{ isAdmitted: true }]);
  });
});
