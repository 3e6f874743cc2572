import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { OPERATOR_CREDENTIAL } from '@crs/testing/setup';
import { organization, startAuthWorld, type AuthWorld } from './_fixtures.ts';

/** Runs a command of an operator. @returns its output */
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
      PATH: process.env['PATH'],
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
