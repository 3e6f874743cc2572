/**
 * Checks the whole OAuth sign-in with an assistant on version 2 of the SDK and its user in a real browser: consent, refresh, refusals, and the revocation of the
 * connection. Run by `trials/clients/run` with the server's URL in `MCP_URL`.
 */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';
import { Assistant } from './assistant.ts';
import * as demo from './demo.ts';
import { openBrowser, origin } from './person.ts';

const url = new URL(process.env['MCP_URL']!);
const say = (line: string) => process.stdout.write(`  ${line}\n`);

const assistant = await Assistant.start();
const transport = new StreamableHTTPClientTransport(url, { authProvider: assistant });
await assert.rejects(newClient().connect(transport), UnauthorizedError);
const { client_id: id } = (await assistant.clientInformation())!;
say(`challenged, registered as ${id.replace(/_.*/, '_...')}`);

const person = await openBrowser();
const { page } = person;
await page.goto(assistant.authorizationUrl!);
await person.look('sign-in');
await person.enterEmail();
await person.look('sign-in-password');
await person.enterPassword('not the password');
await page.getByRole('alert').waitFor();
await person.look('sign-in-refused');
await person.enterPassword();
await page.getByRole('button', { name: 'Allow' }).waitFor();
await person.look('consent');
await person.decide(assistant.authorizationUrl!, 'Allow');
await transport.finishAuth(assistant.callbackParams!);
const client = newClient();
await client.connect(new StreamableHTTPClientTransport(url, { authProvider: assistant }));
await listProjects();
say(`signed in and allowed: ${demo.projects.length} projects`);

// An invalid access token makes the SDK refresh it. Refresh tokens rotate.
const first = assistant.tokens()!;
assistant.saveTokens({ ...first, access_token: 'expired' });
await listProjects();
const second = assistant.tokens()!;
assert.notEqual(second.refresh_token, first.refresh_token);
say('refreshed with a token that rotated');

// A second assistant, which the user denies access.
const other = await Assistant.start();
await assert.rejects(newClient().connect(new StreamableHTTPClientTransport(url, { authProvider: other })), UnauthorizedError);
await person.decide(other.authorizationUrl!, 'Deny');
const { error, state, iss } = Object.fromEntries(other.callbackParams!);
assert.deepEqual({ error, state, iss }, { error: 'access_denied', state: other.state(), iss: origin });
say('denied: access_denied');

// If the client or its redirect URI is unknown, the browser must show an error, not follow the redirect.
for (const [name, value] of [
  ['client_id', 'dcr_unknown'],
  ['redirect_uri', `${assistant.redirectUrl}/`],
] as const) {
  const wrong = new URL(assistant.authorizationUrl!);
  wrong.searchParams.set(name, value);
  const response = await page.goto(wrong.href);
  assert.equal(response?.status(), 400);
  assert.equal(page.url(), wrong.href);
  say(`another ${name}: ${await page.getByRole('heading').innerText()}`);
}
await person.look('error');

await page.goto(`${origin}/connections`);
await person.look('connections');
// Makes the gateway cache the token before it is revoked. The cache must not outlive the revocation by more than a second.
assert.notEqual(await statusFor(second.access_token), 401);
await page
  .getByRole('listitem')
  .filter({ hasText: assistant.clientMetadata.client_name })
  .getByRole('button', { name: 'Disconnect' })
  .first()
  .click();
await page.getByRole('status').waitFor();
const since = performance.now();
while ((await statusFor(second.access_token)) !== 401) {
  assert(performance.now() - since < 1_500, 'the token is valid for longer than a second');
  await sleep(50);
}
say(`disconnected: 401 after ${Math.round(performance.now() - since)} ms`);
await person.look('disconnected');
assistant.authorizationUrl = undefined;
await assert.rejects(listProjects());
assert(assistant.authorizationUrl, 'the user does not have to consent again');
say('the refresh token is refused too, and the user has to consent again');

await page.getByRole('button', { name: 'Sign out' }).click();
await page.getByRole('heading', { name: 'You are signed out' }).waitFor();
await person.look('signed-out');
await page.goto(`${origin}/connections`);
await page.getByLabel('E-mail').waitFor();
await person.leave();
say('no request left this machine, nothing on the console');

function newClient(): Client {
  return new Client({ name: 'example-assistant', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
}

async function listProjects(): Promise<void> {
  const { structuredContent } = await client.callTool({ name: 'list_projects', arguments: { scope: 'all' } });
  const { projects } = structuredContent as { projects: { id: string }[] };
  assert.deepEqual(
    projects.map((project) => project.id),
    demo.projects.map((project) => project.id),
  );
}

async function statusFor(token: string): Promise<number> {
  const response = await fetch(url, { method: 'POST', headers: { Authorization: `Bearer ${token}` } });
  await response.arrayBuffer();
  return response.status;
}
