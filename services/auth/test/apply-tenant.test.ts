import { beforeAll, describe, expect, it } from 'vitest';
import { createApiKey } from '@crs/kit/api-key';
import { tenant } from '@crs/testing/world';
import { applier, sha256 } from './_apply.ts';
import { ALPHA, ANN, BETA, BOB, failureOf, peopleAndProjects, sharedAuthWorld, type SharedAuthWorld } from './_fixtures.ts';

const [ACME, GLOBEX, NEW] = [tenant('acme'), tenant('globex'), tenant('new')];

let world: SharedAuthWorld;
beforeAll(async () => {
  world = await sharedAuthWorld(peopleAndProjects([ACME, GLOBEX]));
});

const { apply, changes, exported } = applier(() => world);
const audited = async (organization: string, like = '%') =>
  (
    await world.rows<{ entry: string }>(
      `select concat_ws(' ', action, target) as entry from auth.audit where organization = $1 and action like $2 order by audit_id`,
      [organization, like],
    )
  ).map(({ entry }) => entry);

describe('a plan', () => {
  it('of a missing organization lists its settings, and creates nothing', async () => {
    const state = {
      id: NEW,
      name: 'New',
      write_surface: 'on',
      rate_limit: '1200/60',
      keys: [{ label: 'erp', sha256: sha256('a') }],
    };
    const planned = await changes(state, { plan: true });
    expect(planned[0]).toMatch(new RegExp(`^\\+ organization ${NEW} name: null -> "New" write_surface: null -> true`));
    expect(planned[0]).toContain('rate_limit: null -> "1200/60"');
    expect(planned[1]).toBe(`+ key erp sha256:${sha256('a').slice(0, 8)} rights: null -> ["read","write"] networks: null -> []`);
    expect(await audited(NEW)).toEqual(['tenant.plan ']);
    expect(await failureOf(exported(NEW))).toMatchObject({ kind: 'not_found' });
  });

  it('of what is stored has no changes, and neither has its application', async () => {
    const state = await exported(ACME);
    expect(await changes(state, { plan: true })).toEqual([]);
    const before = await audited(ACME, 'organization%');
    expect(await changes(state)).toEqual([]);
    expect(await audited(ACME, 'organization%')).toEqual(before);
  });

  it('can only be applied while it is still the plan', async () => {
    const state = { id: ACME, name: 'A plan', clients: 'listed' };
    const { planId } = await apply(state, { plan: true });
    await apply({ id: ACME, name: 'In between' });
    expect(await failureOf(apply(state, { planId }))).toMatchObject({ kind: 'aborted' });
    expect(await exported(ACME)).toMatchObject({ name: 'In between', clients: 'any' });
    const { planId: again } = await apply(state, { plan: true });
    await apply(state, { planId: again });
    expect(await exported(ACME)).toMatchObject({ name: 'A plan', clients: 'listed' });
    await apply({ id: ACME, clients: 'any' });
  });
});

describe('an applied state', () => {
  it('changes the settings that it names, in its own organization only', async () => {
    const other = await exported(GLOBEX);
    const before = await exported(ACME);
    expect(
      await changes({ id: ACME, anonymize_interviewees: true, allowed_fields: ['summary'], tool_rate_limit: '5/10' }),
    ).toEqual([
      `~ organization ${ACME} anonymize_interviewees: false -> true allowed_fields: "default" -> ["summary"] tool_rate_limit: "120/60" -> "5/10"`,
    ]);
    const tool = { requests: 5, period_seconds: 10 };
    expect(await exported(ACME)).toEqual({
      ...before,
      anonymize_interviewees: true,
      allowed_fields: ['summary'],
      tool_rate_limit: tool,
    });
    expect(await exported(GLOBEX)).toEqual(other);
    expect(await changes({ id: ACME, anonymize_interviewees: 'off', allowed_fields: null })).toHaveLength(1);
  });

  it('gives keys that authenticate with exactly its rights and networks', async () => {
    const secret = createApiKey();
    const key = { label: 'erp', sha256: sha256(secret).toUpperCase(), rights: ['delete', 'ingest'], networks: ['203.0.113.7'] };
    await apply({ id: GLOBEX, keys: [key] });
    const { rights, networks, callerTokens } = await world.auth.authenticateKey({ apiKey: secret, audiences: ['calls'] });
    expect({ rights, networks }).toEqual({ rights: ['ingest', 'delete'], networks: ['203.0.113.7/32'] });
    expect(Object.keys(callerTokens)).toEqual(['calls']);
    expect(await changes({ id: GLOBEX, keys: [key] })).toEqual([]);
    expect(await exported(GLOBEX)).toMatchObject({
      keys: [
        { label: 'erp', sha256: sha256(secret), rights: ['ingest', 'delete'], networks: ['203.0.113.7/32'], expires_at: null },
      ],
    });
  });

  it("mends a key's label, networks and expiry, and keeps what it does not name", async () => {
    const digest = sha256(createApiKey());
    const name = `sha256:${digest.slice(0, 8)}`;
    await apply({
      id: ACME,
      keys: [{ label: 'a', sha256: digest, networks: ['10.0.0.0/8'], expires_at: '2099-01-01T00:00:00Z' }],
    });
    expect(await changes({ id: ACME, keys: [{ sha256: digest }] })).toEqual([]);
    const mended = { label: 'b', sha256: digest, networks: [], expires_at: null };
    expect(await changes({ id: ACME, keys: [mended] })).toEqual([
      `~ key a ${name} label: "a" -> "b" networks: ["10.0.0.0/8"] -> [] expires_at: "2099-01-01T00:00:00.000Z" -> null`,
    ]);
    expect((await exported(ACME)).keys).toContainEqual({ ...mended, rights: ['read', 'write'] });
  });

  it('creates, renames, disables and enables users', async () => {
    expect(
      await changes({
        id: ACME,
        users: [
          { email: 'cy@example.com', name: 'Cy' },
          { email: ANN.toUpperCase(), name: 'Ann A.' },
          { email: BOB, disabled: true },
        ],
      }),
    ).toEqual([
      '+ user cy@example.com name: null -> "Cy" disabled: null -> false',
      `~ user ${ANN} name: "${ANN} of ${ACME}" -> "Ann A."`,
      `~ user ${BOB} disabled: false -> true`,
    ]);
    expect(await changes({ id: ACME, users: [{ email: BOB, disabled: false }] })).toEqual([
      `~ user ${BOB} disabled: true -> false`,
    ]);
    expect(await audited(ACME, 'user.%')).toEqual([
      'user.create cy@example.com',
      `user.update ${ANN}`,
      `user.disable ${BOB}`,
      `user.enable ${BOB}`,
    ]);
  });

  it('does not enable a user whom the directory disabled', async () => {
    await world.query(
      `update auth.users set disabled_at = now(), disabled_by = 'directory' where organization = $1 and email = $2`,
      [ACME, BOB],
    );
    const state = { id: ACME, users: [{ email: BOB, disabled: false }] };
    const { changes: none, notes } = await apply(state);
    expect({ none, notes }).toEqual({
      none: [],
      notes: [{ field: 'users[0].disabled', message: expect.stringContaining('directory') }],
    });
    expect(await changes({ id: ACME, users: [{ email: BOB, disabled: true }] })).toEqual([
      `~ user ${BOB} disabled_by: "directory" -> "operator"`,
    ]);
    await changes(state);
  });

  it('maps groups to roles once their projects exist', async () => {
    const maps = [
      { group: 'Boxes', project_id: ALPHA.toUpperCase(), role: 'member' },
      { group: 'Boxes', project_id: '00000000-0000-4000-8000-0000000000ff', role: 'lead' },
    ];
    const { changes: made, notes } = await apply({ id: ACME, group_maps: maps });
    expect(made.map(({ name }) => name)).toEqual([`Boxes: member of ${ALPHA}`]);
    expect(notes).toEqual([{ field: 'group_maps[1].project_id', message: expect.stringContaining('no project') }]);
    expect((await exported(ACME)).group_maps).toEqual([{ group: 'Boxes', project_id: ALPHA, role: 'member' }]);
    expect(await changes({ id: ACME, group_maps: [{ ...maps[0]!, group: 'BOXES' }] })).toEqual([]);
  });

  it('gives the members of a mapped group the role, and takes it away with the map', async () => {
    const [{ userId }] = (await world.rows<{ userId: string }>(
      'select user_id as "userId" from auth.users where organization = $1 and email = $2',
      [GLOBEX, ANN],
    )) as [{ userId: string }];
    const group = '00000000-0000-4000-8000-000000000001';
    await world.query(`insert into auth.groups (organization, group_id, name, name_folded) values ($1, $2, 'Boxes', 'boxes')`, [
      GLOBEX,
      group,
    ]);
    await world.query('insert into auth.group_members (organization, group_id, user_id) values ($1, $2, $3)', [
      GLOBEX,
      group,
      userId,
    ]);
    const roles = () =>
      world.rows('select role, source from auth.project_roles where organization = $1 and project_id = $2', [GLOBEX, BETA]);
    await apply({ id: GLOBEX, group_maps: [{ group: 'boxes', project_id: BETA, role: 'lead' }] });
    expect(await roles()).toEqual([{ role: 'lead', source: 'directory' }]);
    await apply({ id: GLOBEX, group_maps: [] });
    expect(await roles()).toHaveLength(1);
    await apply({ id: GLOBEX, group_maps: [] }, { prune: true });
    expect(await roles()).toEqual([]);
  });
});

describe('pruning', () => {
  it('revokes, unmaps and disables what the named lists lack, and nothing of lists that are absent', async () => {
    const id = tenant('pruned');
    const digest = (name: string) => sha256(`${id} ${name}`);
    await world.load(peopleAndProjects([id]));
    await apply({
      id,
      keys: [{ sha256: digest('a') }, { sha256: digest('b') }, { sha256: digest('old'), expires_at: '2020-01-01T00:00:00Z' }],
      scim_tokens: [{ sha256: digest('c') }],
      group_maps: [{ group: 'G', project_id: ALPHA, role: 'lead' }],
    });
    expect(await changes({ id }, { prune: true })).toEqual([]);
    const pruned = { id, keys: [{ sha256: digest('a') }], scim_tokens: [], group_maps: [], users: [{ email: ANN }] };
    expect(await changes(pruned)).toEqual([]);
    expect(await changes(pruned, { prune: true })).toEqual([
      `- key sha256:${digest('b').slice(0, 8)}`,
      `- scim_token sha256:${digest('c').slice(0, 8)}`,
      `- group_map G: lead of ${ALPHA}`,
      `- user ${BOB}`,
    ]);
    expect(await changes(pruned, { prune: true })).toEqual([]);
    expect(await audited(id, '%e')).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^key\.revoke key_/),
        expect.stringMatching(/^scim-token\.revoke scim_/),
        `user.disable ${BOB}`,
      ]),
    );
  });
});
