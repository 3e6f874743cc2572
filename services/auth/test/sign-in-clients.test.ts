import { beforeAll, describe, expect, it } from 'vitest';
import { digestOf } from '@crs/kit/api-key';
import { tenant } from '@crs/testing/world';
import { ANN, failureOf, organization, sharedAuthWorld, user, type SharedAuthWorld } from './_fixtures.ts';
import { allow, authorizePath, Browser, CALLBACK, pkce, redeem, refresh, register } from './_sign-in.ts';

const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];
const PERSON = { organization: ACME, email: ANN, password: 'correct horse battery' };

let world: SharedAuthWorld;
beforeAll(async () => {
  const twins = [ACME, GLOBEX].flatMap((id) => [organization(id), user(id, ANN, { password: PERSON.password })]);
  world = await sharedAuthWorld(twins);
});

const browser = () => new Browser(world.stack.addresses.authHttp);

/** Goes through a whole sign-in with the given redirect URI. */
async function flow(clientId: string, redirectUri: string, secret?: string) {
  const b = browser();
  const { verifier, challenge } = pkce();
  const callback = await allow(b, authorizePath(clientId, challenge, { redirect_uri: redirectUri }), PERSON);
  expect(callback.href.startsWith(redirectUri), callback.href).toBe(true);
  const more = { redirect_uri: redirectUri, ...(secret !== undefined && { client_secret: secret }) };
  return { b, answer: await redeem(b, clientId, callback.searchParams.get('code')!, verifier, more) };
}

/** The registrations that real assistants send. */
const BODIES = {
  Claude: {
    client_name: 'Claude',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    scope: 'calls:read projects:read entities:read offline_access',
    redirect_uris: [CALLBACK],
  },
  'Claude Code': {
    client_name: 'Claude Code (call-research)',
    redirect_uris: ['http://localhost:52811/callback'],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    scope: 'calls:read projects:read entities:read',
  },
  ChatGPT: {
    client_name: 'ChatGPT',
    redirect_uris: ['https://chatgpt.com/connector_platform_oauth_redirect'],
    token_endpoint_auth_method: 'client_secret_post',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    scope: 'openid profile email',
    application_type: 'web',
  },
  'VS Code': {
    client_name: 'Visual Studio Code',
    client_uri: 'https://code.visualstudio.com',
    grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
    response_types: ['code'],
    redirect_uris: [
      'https://insiders.vscode.dev/redirect',
      'https://vscode.dev/redirect',
      'http://localhost/',
      'http://127.0.0.1/',
      'http://localhost:33418/',
      'http://127.0.0.1:33418/',
    ],
    token_endpoint_auth_method: 'none',
    application_type: 'native',
  },
  Cursor: {
    client_name: 'Cursor',
    redirect_uris: ['cursor://anysphere.cursor-mcp/oauth/callback'],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    client_uri: 'https://cursor.com',
  },
  Inspector: {
    client_name: 'MCP Inspector',
    redirect_uris: ['http://127.0.0.1:6274/oauth/callback'],
    client_uri: 'https://github.com/modelcontextprotocol/inspector',
    contacts: ['not an e-mail'],
    software_id: 'x',
  },
};

describe('a client that registers itself', () => {
  it.each(Object.entries(BODIES))('as %s does is accepted, and its users are redirected back to it', async (_name, sent) => {
    const b = browser();
    const answer = await b.send('/register', { json: sent });
    expect(answer.status).toBe(201);
    const client = JSON.parse(answer.text);
    expect(client).toMatchObject({
      client_id: expect.stringMatching(/^dcr_\w{22}$/),
      client_name: sent.client_name,
      redirect_uris: sent.redirect_uris,
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    });
    const { answer: tokens } = await flow(client.client_id, sent.redirect_uris.at(-1)!, client.client_secret);
    expect(tokens.status).toBe(200);
    expect(tokens.body.refresh_token).toBeTruthy();
  });

  it('with a loopback redirect URI may use any port of that address, and no other address', async () => {
    const { body } = await register(browser(), BODIES['VS Code']);
    expect((await flow(body.client_id, 'http://127.0.0.1:41234/')).answer.status).toBe(200);
    for (const uri of [
      'http://127.0.0.1:41234/other',
      'http://127.0.0.2:33418/',
      'https://127.0.0.1:33418/',
      'http://[::1]:33418/',
    ]) {
      const { page, externalUrl } = await browser().open(authorizePath(body.client_id, pkce().challenge, { redirect_uri: uri }));
      expect(externalUrl).toBeUndefined();
      expect(page.status).toBe(400);
    }
  });

  it('is shown with the host of its redirect, and with a warning if that is the user’s own machine', async () => {
    const consentOf = async (sent: object, uri: string) => {
      const b = browser();
      const { body } = await register(b, sent);
      const { page } = await b.open(authorizePath(body.client_id, pkce().challenge, { redirect_uri: uri }));
      return (await b.submit(page, { ...PERSON })).page;
    };
    const local = (await consentOf(BODIES['Claude Code'], 'http://localhost:40000/callback')).text;
    const hosted = (await consentOf({ ...BODIES.Claude, client_name: '<b>Evil</b>' }, CALLBACK)).text;
    expect(local).toMatch(/an app on this computer .*localhost:40000/);
    for (const page of [local, hosted]) expect(page).toContain('Let an assistant that calls itself');
    expect(hosted).toContain('claude.ai');
    expect(hosted).not.toContain('<b>Evil');
    expect(local).toContain('class="note warning"');
    expect(hosted).not.toContain('class="note warning"');
  });

  it.each([
    ['http elsewhere', ['http://evil.example/callback']],
    ['a script', ['javascript:alert(1)']],
    ['data', ['data:text/html,x']],
    ['a fragment', ['https://claude.ai/cb#x']],
    ['no URI', ['nonsense']],
    ['none', []],
    ['a number', [7]],
    ['a text', 'https://claude.ai/cb'],
  ])('with %s as its redirect URI is refused', async (_name, uris) => {
    const answer = await register(browser(), { redirect_uris: uris });
    expect(answer.status).toBe(400);
    expect(answer.body.error).toMatch(/^invalid_(redirect_uri|client_metadata)$/);
  });

  it.each([
    ['search-ms', 'search-ms:query=x'],
    ['search', 'search:query=x'],
    ['shell', 'shell:startup'],
    ['ms-settings', 'ms-settings:x'],
    ['ms-appinstaller', 'ms-appinstaller:?source=https://evil.example/x'],
    ['ms-word', 'ms-word:ofe|u|https://evil.example/x'],
    ['mailto', 'mailto:x@evil.example'],
    ['tel', 'tel:+1900'],
    ['sms', 'sms:+1900'],
    ['file', 'file:///etc/passwd'],
    ['vbscript', 'vbscript:x'],
    ['intent', 'intent://x'],
    ['SHELL in capitals', 'SHELL:startup'],
    ['the settings of macOS', 'x-apple.systempreferences:com.apple.preference.security'],
    ['a camera of Windows', 'microsoft.windows.camera:x'],
    ['an unknown word', 'example:/callback'],
  ])(
    'with a redirect URI of an operating-system program (%s) is refused, and the error says what to use instead',
    async (_name, uri) => {
      const answer = await register(browser(), { redirect_uris: [CALLBACK, uri] });
      expect(answer.status).toBe(400);
      expect(answer.body.error).toBe('invalid_redirect_uri');
      expect(answer.body.error_description).toMatch(/reversed domain name, such as com\.example\.app.* ask the operator/);
    },
  );

  it.each([
    'com.example.app:/callback',
    'com.raycast:/oauth',
    'claude://oauth/callback',
    'vscode://publisher.extension/callback',
    'vscode-insiders://publisher.extension/callback',
    'warp://mcp/oauth2callback',
    'windsurf://publisher.extension/callback',
  ])('may have the redirect URI of an app: %s', async (uri) => {
    const { status, body } = await register(browser(), { redirect_uris: [uri] });
    expect([status, body.redirect_uris]).toEqual([201, [uri]]);
    expect((await flow(body.client_id, uri)).answer.status).toBe(200);
  });

  it('may register 20 times an hour from one address', async () => {
    const from = (address: string) =>
      browser().send('/register', { json: BODIES.Claude, headers: { 'x-forwarded-for': address } });
    for (let i = 0; i < 20; i++) expect((await from('203.0.113.9')).status).toBe(201);
    const refused = await from('203.0.113.9');
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3_000);
    expect((await from('203.0.113.10')).status).toBe(201);
  });

  it('may register from an IPv6 /56 four times as often as from one address, and from a /48 sixteen times', async () => {
    const from = async (n56: number, n64: number) => {
      const address = `2001:db8:9:${(n56 * 256 + n64).toString(16)}::`;
      return (await browser().send('/register', { json: BODIES.Claude, headers: { 'x-forwarded-for': address } })).status;
    };
    for (let n64 = 0; n64 < 4; n64++) for (let n = 0; n < 20; n++) expect(await from(0, n64)).toBe(201);
    expect(await from(0, 0)).toBe(429);
    expect(await from(0, 4)).toBe(429);
    // A registration that the limit of the /56 refuses doesn't count for the /48.
    const network = digestOf('registration:2001:db8:9::/48');
    expect(await world.rows('select tries from auth.throttles where bucket = $1', [network])).toEqual([{ tries: 80 }]);
    expect(await from(1, 0)).toBe(201);
    await world.rows('update auth.throttles set tries = 319 where bucket = $1', [network]);
    expect(await from(2, 0)).toBe(201);
    expect(await from(3, 0)).toBe(429);
  });

  it('is deleted after a day unless somebody has consented', async () => {
    const { body: idle } = await register(browser());
    const { body: used } = await register(browser());
    await flow(used.client_id, CALLBACK);
    const both = [idle, used].map(({ client_id }) => digestOf(client_id as string));
    const rows = await world.rows<{ hours: number }>(
      `select round(extract(epoch from expires_at - now()) / 3600)::int as hours from auth.oidc_payloads
        where model = 'Client' and id_digest = any($1) order by expires_at`,
      [both],
    );
    expect(rows.map(({ hours }) => hours)).toEqual([24, 365 * 24]);
    await world.rows(
      `update auth.oidc_payloads set expires_at = now()
        where model = 'Client' and id_digest = any($1) and expires_at < now() + interval '2 days'`,
      [both],
    );
    const open = (id: string) => browser().open(authorizePath(id, pkce().challenge));
    expect((await open(idle.client_id)).page.status).toBe(400);
    expect((await open(used.client_id)).page.status).toBe(200);
  });
});

describe('a client that an operator registers', () => {
  const create = async (redirectUris: string[], withSecret = false) =>
    world.operator.auth.createClient({ name: 'Our assistant', redirectUris, withSecret }, await world.operate());

  it('keeps its id and its secret', async () => {
    const { client, clientSecret } = await create(['https://assistant.example/callback'], true);
    expect(client!.clientId).toMatch(/^client_\w{22}$/);
    const { b, answer } = await flow(client!.clientId, 'https://assistant.example/callback', clientSecret);
    expect(answer.status).toBe(200);
    const wrong = await refresh(b, client!.clientId, answer.body.refresh_token, { client_secret: 'wrong' });
    expect(wrong).toMatchObject({ status: 401, body: { error: 'invalid_client' } });
    const right = await refresh(b, client!.clientId, answer.body.refresh_token, { client_secret: clientSecret });
    expect(right.status).toBe(200);
    const listed = await world.operator.auth.listClients({}, await world.operate());
    expect(listed.clients).toContainEqual(client);
    const stored = await world.rows<{ row: string }>('select t::text as row from auth.clients t');
    expect(JSON.stringify(stored)).not.toContain(Buffer.from(clientSecret).toString('hex'));
    await world.operator.auth.removeClient({ clientId: client!.clientId }, await world.operate());
    const rejected = await refresh(b, client!.clientId, right.body.refresh_token, { client_secret: clientSecret });
    expect(rejected.body.error).toBe('invalid_client');
  });

  it('may be public, and use any port of its loopback redirect URI', async () => {
    const { client, clientSecret } = await create(['http://127.0.0.1/callback']);
    expect(clientSecret).toBe('');
    expect((await flow(client!.clientId, 'http://127.0.0.1:40404/callback')).answer.status).toBe(200);
  });

  it('is shown by the name that the operator gave it, and may have any custom scheme', async () => {
    const uri = 'example:/callback';
    const { client } = await create([uri]);
    const b = browser();
    const { page } = await b.open(authorizePath(client!.clientId, pkce().challenge, { redirect_uri: uri }));
    const { text } = (await b.submit(page, { ...PERSON })).page;
    expect(text).toMatch(/<h1>Let <bdi class="clamp">Our assistant<\/bdi> read your research\?<\/h1>/);
    expect(text).not.toContain('own claim');
    expect((await flow(client!.clientId, uri)).answer.status).toBe(200);
  });

  it('is refused with unusable redirect URIs, and belongs to all organizations', async () => {
    for (const uris of [[], ['nonsense'], ['http://elsewhere.example/'], ['javascript:alert(1)'], ['https://a.example/#x']])
      expect(await failureOf(create(uris)), uris[0]).toMatchObject({ kind: 'invalid_argument', field: 'redirect_uris' });
    const bound = await world.operate(ACME);
    const { auth } = world.operator;
    const refused = [
      auth.listClients({}, bound),
      auth.removeClient({ clientId: 'client_x' }, bound),
      auth.createClient({ name: 'x', redirectUris: [CALLBACK], withSecret: false }, bound),
      auth.rotateTokenKey({}, bound),
    ];
    for (const failure of await Promise.all(refused.map(failureOf))) expect(failure?.kind).toBe('permission_denied');
    expect((await failureOf(world.operator.auth.removeClient({ clientId: 'client_x' }, await world.operate())))?.kind).toBe(
      'not_found',
    );
  });
});
