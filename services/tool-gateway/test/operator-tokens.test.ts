import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { INHERITED } from '@crs/testing/inherited';
import { toolClient } from '@crs/testing/mcp';
import { OPERATOR_CREDENTIAL } from '@crs/testing/setup';
import { startWorld, type OwnWorld } from '@crs/testing/world';
import { programOf } from '@crs/testing/programs';

const CRS = programOf('crs');
const ANN = 'ann@example.com';

let world: OwnWorld;
beforeAll(async () => {
  world = await startWorld();
  for (const organization of ['acme', 'globex']) {
    await world.load([
      { type: 'organization', id: organization, name: organization },
      { type: 'user', organization, email: ANN, name: 'Ann' },
      { type: 'call', organization, id: 'call_1', conducted_by: ANN, expert: { name: organization } },
    ]);
  }
});
afterAll(() => world?.close());

/** Runs the `crs` CLI as an operator does. @returns its JSON output */
async function crs(...args: string[]): Promise<Record<string, unknown>> {
  const { authAdmin, projectsAdmin, callsAdmin, entitiesAdmin } = world.stack.addresses;
  const env = {
    ...INHERITED,
    CRS_AUTH_ADMIN_ADDRESS: authAdmin,
    CRS_PROJECTS_ADMIN_ADDRESS: projectsAdmin,
    CRS_CALLS_ADMIN_ADDRESS: callsAdmin,
    CRS_ENTITIES_ADMIN_ADDRESS: entitiesAdmin,
    CRS_OPERATOR_CREDENTIAL: OPERATOR_CREDENTIAL,
  };
  const { stdout } = await promisify(execFile)(process.execPath, [CRS, ...args, '--json'], { env });
  return JSON.parse(stdout) as Record<string, unknown>;
}

it('an operator creates a token for a user, lists it without its secret, and revokes it', async () => {
  const created = await crs('token', 'create', '--org', 'acme', '--user', ANN, '--scope', 'calls:read', '--expires-in', '1d');
  expect(created).toEqual({
    token_id: expect.stringMatching(/^grant_/),
    access_token: expect.any(String),
    scope: 'calls:read',
    expires_at: expect.stringMatching(/Z$/),
  });
  const { token_id: id, access_token: token } = created as { token_id: string; access_token: string };
  const tools = toolClient(world.stack.addresses.tools, token);
  expect((await tools('list_calls')).value.calls).toMatchObject([{ id: 'call_1', name: 'acme' }]);
  expect((await tools('list_projects')).status).toBe(403);

  const listed = { token_id: id, kind: 'operator', user: ANN, client: 'crs token create', scope: 'calls:read', revoked_at: null };
  const { data } = (await crs('token', 'list', '--org', 'acme')) as { data: object[] };
  expect(data).toEqual([{ ...listed, created_at: expect.any(String), expires_at: created['expires_at'] }]);
  expect(await crs('token', 'list', '--org', 'globex')).toEqual({ data: [] });

  await expect(crs('token', 'revoke', id, '--org', 'globex')).rejects.toMatchObject({ code: 1 });
  expect((await tools('list_calls')).status).toBe(200);
  expect(await crs('token', 'revoke', id, '--org', 'acme')).toMatchObject({ ...listed, revoked_at: expect.any(String) });
  await vi.waitFor(async () => expect((await tools('list_calls')).status).toBe(401), { timeout: 10_000, interval: 50 });
});

it('crs refuses an empty or unknown scope, and creates no token', async () => {
  await expect(crs('token', 'create', '--org', 'globex', '--user', ANN, '--scope', '')).rejects.toMatchObject({ code: 2 });
  await expect(crs('token', 'create', '--org', 'globex', '--user', ANN, '--scope', 'nope')).rejects.toMatchObject({ code: 1 });
  expect(await crs('token', 'list', '--org', 'globex')).toEqual({ data: [] });
});

it('an operator registers an assistant, lists it without its secret, and removes it', async () => {
  const uris = ['https://assistant.example/callback', 'http://127.0.0.1/callback'];
  const created = await crs('client', 'create', '--name', 'Ours', '--redirect-uri', ...uris, '--secret');
  const { client_secret: secret, ...listed } = created;
  expect(secret).toMatch(/^[\w-]{43}$/);
  expect(listed).toEqual({
    client_id: expect.stringMatching(/^client_/),
    name: 'Ours',
    redirect_uris: uris,
    has_secret: true,
    created_at: expect.stringMatching(/Z$/),
  });
  expect(await crs('client', 'list')).toEqual({ data: [listed] });
  expect(await crs('client', 'remove', String(listed['client_id']))).toEqual(listed);
  expect(await crs('client', 'list')).toEqual({ data: [] });
});

it('an operator rotates the signing key for tokens, and existing tokens stay valid', async () => {
  const { access_token: token } = await crs('token', 'create', '--org', 'acme', '--user', ANN);
  const { key_id: first } = await crs('token', 'rotate-key');
  const { key_id: second } = await crs('signing-key', 'rotate', 'token');
  const { data } = await crs('signing-key', 'list');
  const states = (data as Record<string, string>[])
    .filter(({ kind }) => kind === 'token')
    .map((key) => [key['key_id'], key['state']]);
  expect(states).toEqual([
    [second, 'announced'],
    [first, 'announced'],
    [expect.stringMatching(/^tk_/), 'signing'],
  ]);
  expect(await crs('signing-key', 'retire', String(second))).toEqual({ key_id: second });
  expect((await toolClient(world.stack.addresses.tools, String(token))('list_calls')).value.calls).toHaveLength(1);
});

it('an operator lists which secret encrypts, and re-encrypts all values with the first secret', async () => {
  expect(await crs('secret', 'reseal')).toEqual({ resealed: 0 });
  const { data } = await crs('secret', 'status');
  expect(data).toEqual([{ secret_id: '0', use: 'seals', values: expect.any(Number) }]);
});
