import { beforeAll, describe, expect, it } from 'vitest';
import { runCrs } from '@crs/testing/run-crs';
import { directoryWith, filtered, newGroup } from '@crs/testing/scim';
import { tenant } from '@crs/testing/world';
import { ALPHA, ANN, organization, project, sharedAuthWorld, user, type SharedAuthWorld } from './_fixtures.ts';

const ACME = tenant('acme');

let world: SharedAuthWorld;
beforeAll(async () => {
  world = await sharedAuthWorld([organization(ACME), user(ACME, ANN), project(ACME, ALPHA)]);
});

const crs = (...args: string[]) => runCrs(world, args);
/** Runs a command for the organization. @returns its JSON */
const ask = async (...args: string[]) => {
  const { stdout, stderr, status } = await crs(...args, '--org', ACME, '--json');
  expect([status, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
};
const MAP = ['--group', 'Team', '--project', ALPHA, '--role', 'member'];

describe('crs scim', () => {
  it('creates, lists and revokes tokens', async () => {
    const { token_id: id, token, label } = await ask('scim', 'create', '--label', 'okta');
    expect(label).toBe('okta');
    const listed = async () => (await ask('scim', 'list')).data.find((each: { token_id: string }) => each.token_id === id);
    expect(await listed()).toEqual({
      token_id: id,
      label: 'okta',
      created_at: expect.any(String),
      revoked_at: null,
      last_used_at: null,
    });
    const directory = directoryWith(world.stack.addresses.tools, token);
    expect((await directory('GET', '/Users')).status).toBe(200);
    expect(await ask('scim', 'revoke', id, '--yes')).toMatchObject({ token_id: id, revoked_at: expect.any(String) });
    expect((await directory('GET', '/Users')).status).toBe(401);
    expect(await listed()).toMatchObject({ revoked_at: expect.any(String) });
  });

  it('maps a group, before it exists, and names it when its role can not be removed', async () => {
    const map = { group: 'Team', project_id: ALPHA, role: 'member' };
    expect(await ask('scim', 'map', ...MAP)).toEqual({ ...map, members: null });
    const directory = directoryWith(world.stack.addresses.tools, (await ask('scim', 'create')).token);
    const { Resources } = (await directory('GET', filtered('Users', `userName eq "${ANN}"`))).body;
    await directory('POST', '/Groups', newGroup('TEAM', [Resources[0].id]));
    expect((await ask('scim', 'maps')).data).toEqual([{ ...map, members: 1 }]);
    const member = ['--org', ACME, '--project', ALPHA, '--user', ANN, '--role', 'member'];
    const refused = await crs('member', 'remove', ...member);
    expect([refused.status, refused.stderr]).toEqual([1, expect.stringContaining(`the directory's group "TEAM"`)]);
    await crs('member', 'add', ...member);
    expect((await crs('member', 'remove', ...member)).stdout).toContain(`is still member of ${ALPHA}`);
    expect(await ask('scim', 'unmap', ...MAP)).toEqual(map);
    expect((await ask('scim', 'maps')).data).toEqual([]);
    expect((await crs('scim', 'unmap', '--org', ACME, ...MAP)).status).toBe(1);
  });
});

describe('crs user update', () => {
  it('changes the e-mail or the name', async () => {
    const before = (await ask('user', 'list')).data[0];
    const update = (...args: string[]) => ask('user', 'update', ...args);
    expect(await update('--user', ANN.toUpperCase(), '--email', 'new@example.com')).toEqual({
      ...before,
      email: 'new@example.com',
    });
    expect(await update('--user', 'new@example.com', '--name', 'New')).toMatchObject({ user_id: before.user_id, name: 'New' });
    const entries = (await ask('audit')).data.filter(({ action }: { action: string }) => action === 'user.update');
    expect(entries.map(({ changes }: { changes: unknown }) => changes)).toEqual([
      { name: { from: before.name, to: 'New' } },
      { email: { from: ANN, to: 'new@example.com' } },
    ]);
  });

  it('is refused for an e-mail that is taken or none, and needs something to change', async () => {
    await world.load([user(ACME, 'taken@example.com'), user(ACME, 'other@example.com')]);
    const update = async (...args: string[]) => (await crs('user', 'update', '--org', ACME, ...args)).status;
    expect(await update('--user', 'other@example.com', '--email', 'TAKEN@example.com')).toBe(1);
    expect(await update('--user', 'other@example.com', '--email', 'x')).toBe(1);
    expect(await update('--user', 'nobody@example.com', '--name', 'x')).toBe(1);
    expect(await update('--user', 'other@example.com')).toBe(2);
  });
});
