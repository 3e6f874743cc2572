import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { logProblems } from '@crs/testing/log-schema';
import { sharedWorld, tenant, TOOLS_URL, type World } from '@crs/testing/world';
import { ask, LEGACY, message, spoken, type Answer, type Ask } from './_requests.ts';

const ANN = 'ann@acme.example';
const PASSWORD = 'correct horse battery';
const CALLBACK = 'https://client.example/callback';
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const VERIFIER = 'a-verifier-that-is-long-enough-to-be-one-0123456789';

const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];

let world: World;
beforeAll(async () => {
  // The tests compare request ids with trace ids, so tracing must be on.
  world = await sharedWorld();
  for (const organization of [ACME, GLOBEX])
    await world.load([
      { type: 'organization', id: organization },
      { type: 'user', organization, email: ANN, name: 'Ann', password: PASSWORD },
    ]);
});

const send = (request: Ask) =>
  ask(world.stack.addresses.tools, { method: 'GET', ...request, headers: { host: new URL(TOOLS_URL).host, ...request.headers } });
const form = (fields: Record<string, string>) => new URLSearchParams(fields).toString();
const post = (path: string, fields: Record<string, string>) => send({ method: 'POST', path, headers: FORM, body: form(fields) });

/** A minimal browser: it keeps cookies, follows redirects within our origin, and stops at a redirect to another. */
function openBrowser() {
  const cookies = new Map<string, string>();
  return async function go(request: Ask): Promise<{ page: Answer; away?: URL }> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const page = await send({ ...request, headers: { ...request.headers, ...(cookie && { cookie }) } });
    for (const line of page.headers['set-cookie'] ?? []) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line)!;
      cookies.set(name, value);
    }
    const refresh = /http-equiv="refresh" content="0; url=([^"]+)"/.exec(page.text)?.[1]?.replaceAll('&amp;', '&');
    const next = page.headers.location ?? refresh;
    if (next === undefined) return { page };
    const url = new URL(next, TOOLS_URL);
    return url.origin === TOOLS_URL ? go({ path: url.pathname + url.search }) : { page, away: url };
  };
}

/** The request that submits the form of a page with these fields. */
function filled({ text: page }: Answer, fields: Record<string, string>): Ask {
  const hidden = [...page.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(([, name, value]) => [
    name,
    value,
  ]);
  const path = /<form[^>]*action="([^"]+)"/.exec(page)![1]!;
  return { method: 'POST', path, headers: FORM, body: form({ ...Object.fromEntries(hidden), ...fields }) };
}

describe("with requests only to the tools' origin, a client", () => {
  it('finds an issuer of the same origin, all of whose endpoints exist', async () => {
    const challenge = (await send({ method: 'POST', path: '/mcp' })).headers['www-authenticate']!;
    const { pathname } = new URL(/resource_metadata="([^"]+)"/.exec(challenge)![1]!);
    const [issuer] = (await send({ path: pathname })).json.authorization_servers as string[];
    expect(issuer).toBe(TOOLS_URL);
    for (const name of ['oauth-authorization-server', 'openid-configuration']) {
      const { json: metadata, headers } = await send({ path: `/.well-known/${name}` });
      expect([metadata.issuer, headers['access-control-allow-origin']]).toEqual([issuer, '*']);
      expect((await send({ path: `/.well-known/${name}/mcp` })).json).toEqual(metadata);
      const endpoints = Object.entries<string>(metadata).filter(([key]) => /(_endpoint|jwks_uri)$/.test(key));
      expect(endpoints.map(([key]) => key)).toEqual(
        expect.arrayContaining([
          'authorization_endpoint',
          'jwks_uri',
          'registration_endpoint',
          'revocation_endpoint',
          'token_endpoint',
        ]),
      );
      for (const [key, url] of endpoints) {
        expect(new URL(url).origin).toBe(TOOLS_URL);
        const method = /authorization|jwks/.test(key) ? 'GET' : 'POST';
        const answer = await send({ method, path: new URL(url).pathname, headers: method === 'POST' ? FORM : {} });
        expect([key, answer.status]).toEqual([key, expect.toBeOneOf([200, 400, 401])]);
        expect(answer.json?.error?.code).toBeUndefined();
      }
    }
  });

  it('registers, has its user sign in and consent, and calls the tools with the tokens that it gets', async () => {
    const before = world.log.length;
    const registration = {
      client_name: 'Client',
      redirect_uris: [CALLBACK],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
    };
    const headers = { 'content-type': 'application/json' };
    const registered = await send({ method: 'POST', path: '/register', headers, body: registration });
    const { client_id } = registered.json as { client_id: string };

    const authorization = form({
      response_type: 'code',
      client_id,
      redirect_uri: CALLBACK,
      code_challenge: createHash('sha256').update(VERIFIER).digest('base64url'),
      code_challenge_method: 'S256',
      resource: `${TOOLS_URL}/mcp`,
    });
    const browser = openBrowser();
    const { page: login } = await browser({ path: `/authorize?${authorization}` });
    expect(login.headers['access-control-allow-origin']).toBeUndefined();
    const { page: consent } = await browser(filled(login, { organization: ACME, email: ANN, password: PASSWORD }));
    const { away } = await browser(filled(consent, { decision: 'allow' }));
    expect(away!.origin + away!.pathname).toBe(CALLBACK);
    expect(away!.searchParams.get('iss')).toBe(TOOLS_URL);

    const code = away!.searchParams.get('code')!;
    const redeemed = { grant_type: 'authorization_code', client_id, code, code_verifier: VERIFIER, redirect_uri: CALLBACK };
    const { json: tokens } = await post('/token', redeemed);
    const listed = await ask(world.stack.addresses.tools, spoken(LEGACY, message('tools/list'), `Bearer ${tokens.access_token}`));
    expect(listed.json.result.tools).toHaveLength(4);

    const { json: renewed } = await post('/token', {
      grant_type: 'refresh_token',
      client_id,
      refresh_token: tokens.refresh_token,
    });
    expect((await post('/revoke', { client_id, token: renewed.refresh_token })).status).toBe(200);
    const log = world.log.slice(before);
    const lines = log.map((line) => JSON.parse(line)).filter(({ msg, status }) => msg === 'request' && status < 400);
    const linesOf = (service: string, route: string) => lines.filter((line) => line.service === service && line.route === route);
    const user = { organization: ACME, user_id: expect.any(String), client_address: '127.0.0.1' };
    const grant = { client_id, grant_id: expect.stringMatching(/^grant_/) };
    expect(linesOf('tool-gateway', '/mcp').at(-1)).toMatchObject({ ...user, ...grant, operation: 'tools/list' });
    expect(linesOf('auth', '/token')).toMatchObject([
      { ...user, ...grant },
      { ...user, ...grant },
    ]);
    expect(linesOf('tool-gateway', '/token')).toMatchObject([{ client_address: '127.0.0.1' }, { client_address: '127.0.0.1' }]);
    expect(linesOf('auth', '/sign-in/:uid').map(({ method, user_id }) => `${method} ${typeof user_id}`)).toEqual([
      'GET undefined',
      'POST string',
      'GET string',
      'POST string',
    ]);
    expect(logProblems(log)).toEqual([]);
    const secrets = [code, VERIFIER, PASSWORD, tokens.access_token, tokens.refresh_token, renewed.refresh_token];
    for (const secret of secrets) expect(log.join('')).not.toContain(secret);
  });

  it('gets the same request id in the header and in the message of an error', async () => {
    const { headers, text: page } = await send({ path: '/sign-in/nothing' });
    expect(headers['content-type']).toContain('text/html');
    expect(headers['x-request-id']).not.toMatch(/^0+$/);
    expect(page).toContain(headers['x-request-id']);
    const id = String(headers['x-request-id']);
    const told = () => world.log.filter((line) => line.includes(`"trace_id":"${id}"`)).map((line) => JSON.parse(line));
    await expect.poll(told).toMatchObject([{ service: 'auth' }, { service: 'tool-gateway' }]);
  });
});
