import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { INHERITED } from '@crs/testing/inherited';
import { OPERATOR_CREDENTIAL } from '@crs/testing/setup';
import { ANN, failureOf, organization, startAuthWorld, user, type AuthWorld } from './_fixtures.ts';

let world: AuthWorld;
beforeAll(async () => {
  world = await startAuthWorld([organization('acme')]);
});
afterAll(() => world?.close());

const MAIN = join(import.meta.dirname, '../../crs/src/main.ts');

async function crs(args: string[], input = '') {
  const { addresses } = world.stack;
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: {
      ...INHERITED,
      CRS_AUTH_ADMIN_ADDRESS: addresses.authAdmin,
      CRS_PROJECTS_ADMIN_ADDRESS: addresses.projectsAdmin,
      CRS_CALLS_ADMIN_ADDRESS: addresses.callsAdmin,
      CRS_ENTITIES_ADMIN_ADDRESS: addresses.entitiesAdmin,
      CRS_OPERATOR_CREDENTIAL: OPERATOR_CREDENTIAL,
    },
  });
  child.stdin.end(input);
  const [stdout, stderr, status] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.on('close', resolve)),
  ]);
  return { stdout, stderr, status };
}

const SET = ['--oidc-issuer', 'https://idp.example', '--oidc-client-id', 'crs', '--oidc-domains', 'acme.example,b.example'];
const SHOWN = {
  issuer: 'https://idp.example',
  client_id: 'crs',
  has_client_secret: true,
  domains: ['acme.example', 'b.example'],
};

it('an operator sets a provider, sees it without its secret, and removes it', async () => {
  const set = await crs(['org', 'update', 'acme', ...SET, '--oidc-client-secret-stdin', '--json'], 'hush-hush\n');
  expect(set).toMatchObject({ status: 0, stderr: '' });
  expect(JSON.parse(set.stdout).oidc_provider).toEqual(SHOWN);

  const changed = await crs(['org', 'update', 'acme', '--oidc-domains', 'acme.example']);
  const lines = changed.stdout.split('\n').map((line) => line.replaceAll(/ {2,}/g, ': '));
  expect(lines).toEqual(
    expect.arrayContaining([
      'sign-in: https://idp.example',
      'client id: crs',
      'client secret: set',
      'e-mail domains: acme.example',
    ]),
  );
  const list = await crs(['org', 'list']);
  expect(list.stdout).toContain('https://idp.example');
  expect(set.stdout + changed.stdout + list.stdout).not.toContain('hush-hush');

  const other = await crs(['org', 'update', 'acme', '--oidc-issuer', 'https://other.example']);
  expect(other).toMatchObject({ status: 1, stdout: '', stderr: 'error: oidc_client_id: is required with another issuer\n' });

  const none = await crs(['org', 'update', 'acme', '--oidc-issuer', 'none', '--json']);
  expect(JSON.parse(none.stdout).oidc_provider).toBeNull();
  expect((await crs(['org', 'list'])).stdout).toContain('passwords');
});

it('an operator makes a password for a user, or sends one, and hears whether it is used', async () => {
  await world.load([user('acme', ANN)]);
  const set = (...more: string[]) => ['user', 'set-password', '--org', 'acme', '--user', ANN, ...more];
  const made = await crs(set('--json'));
  expect(made).toMatchObject({ status: 0, stderr: '' });
  const { password } = JSON.parse(made.stdout);
  expect(JSON.parse(made.stdout)).toMatchObject({ email: ANN, has_password: true, ended_connections: 0, oidc_issuer: null });
  expect(password).toMatch(/^[0-9A-Za-z]{20}$/);

  const sent = await crs(set('--password-stdin', '--end-connections', '--json'), 'plum tart on a late tram\n');
  expect(JSON.parse(sent.stdout)).not.toHaveProperty('password');
  const easy = await crs(set('--password-stdin'), 'password12345\n');
  expect(easy).toMatchObject({ status: 1, stdout: '', stderr: expect.stringContaining('password: is too easy to guess') });

  await crs(['org', 'update', 'acme', ...SET]);
  const unused = await crs(set());
  expect(unused.stdout).toContain('This is the only time that the password is shown');
  expect(unused.stdout).toContain("The password isn't used: users of acme sign in through https://idp.example.");
  await crs(['org', 'update', 'acme', '--oidc-issuer', 'none']);
});

it('an operator ends the sessions of a user', async () => {
  await world.load([user('acme', ANN)]);
  const { accessToken } = await world.operator.auth.createToken(
    { email: ANN, scopes: [], expiresInSeconds: 0 },
    await world.operate('acme'),
  );
  const ended = await crs(['user', 'end-sessions', '--org', 'acme', '--user', ANN, '--json']);
  expect(JSON.parse(ended.stdout)).toMatchObject({ email: ANN, disabled: false, ended_connections: 1 });
  expect((await failureOf(world.auth.authenticateToken({ accessToken, audiences: [] })))?.kind).toBe('unauthenticated');
});
