import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ErasureTarget } from '@crs/proto/crs/auth/v1/auth';
import { tenant } from '@crs/testing/world';
import {
  ALPHA,
  ANN,
  BETA,
  BOB,
  failureOf,
  organization,
  peopleAndProjects,
  project,
  sharedAuthWorld,
  user,
  type SharedAuthWorld,
} from './_fixtures.ts';

const TENANTS = [tenant('acme'), tenant('globex')] as const;
const [ACME, GLOBEX] = TENANTS;

/** Auth has the first and the last step of a deletion; the other services have the steps between. */
let world: SharedAuthWorld;
beforeAll(async () => {
  world = await sharedAuthWorld();
});

const SHARED = { created_by: ANN, members: [{ email: BOB, role: 'lead' }] };
beforeEach(() =>
  world.load([
    ...peopleAndProjects(TENANTS),
    ...TENANTS.map((tenant) => organization(tenant, { write_surface: true })),
    ...TENANTS.flatMap((tenant) => [ALPHA, BETA].map((id) => project(tenant, id, SHARED))),
  ]),
);

type Target = NonNullable<ErasureTarget['target']>;
const ORGANIZATION: Target = { $case: 'organization', value: true };
const ALPHA_TARGET: Target = { $case: 'projectId', value: ALPHA };
const BOB_TARGET: Target = { $case: 'email', value: BOB.toUpperCase() };
const begin = async (target: Target | undefined, tenant = ACME) =>
  world.auth.beginErasure({ target: { target }, check: false }, await world.operate(tenant));
const finish = async (target: Target, tenant = ACME) =>
  world.operator.auth.finishErasure({ target: { target } }, await world.operate(tenant));
const count = async (table: string, tenant: string) =>
  (await world.rows(`select 1 from auth.${table} where organization = $1`, [tenant])).length;
const resolve = async (tenant: string) => {
  const { users, projectIds, organizationExists } = await world.auth.resolveReferences(
    { emails: [ANN, BOB], projectIds: [ALPHA, BETA] },
    await world.operate(tenant),
  );
  return { users: users.map(({ email }) => email), projectIds: projectIds.sort(), organizationExists };
};
const EVERYTHING = { users: [ANN, BOB], projectIds: [ALPHA, BETA], organizationExists: true };
const visible = async (email: string) => {
  const { projects, version } = await world.auth.getVisibleProjects({}, await world.asUser(ACME, email));
  return { version, ids: projects.map(({ projectId }) => projectId).sort() };
};

describe('a project', () => {
  it('is hidden from the first step of its deletion on, and no longer exists after the last', async () => {
    const before = await visible(BOB);
    expect(await begin(ALPHA_TARGET)).toEqual({ found: true, userId: '' });
    const after = await visible(BOB);
    expect(after.ids).toEqual([BETA]);
    expect(after.version).toBeGreaterThan(before.version);
    expect(await resolve(ACME)).toEqual({ ...EVERYTHING, projectIds: [BETA] });
    expect((await world.tryLoad([project(ACME, ALPHA)])).refused).toEqual([
      '1: id: is being deleted; run its deletion again first',
    ]);
    await finish(ALPHA_TARGET);
    expect([await count('projects', ACME), await count('project_roles', ACME)]).toEqual([1, 1]);
    expect(await resolve(GLOBEX)).toEqual(EVERYTHING);
  });
});

describe('a user', () => {
  it('is refused from the first step of the deletion on, and no longer exists after the last; projects that the user created stay', async () => {
    const token = await world.asUser(ACME, BOB);
    const [bob] = await world.rows<{ id: string }>(
      'select user_id as id from auth.users where organization = $1 and email = $2',
      [ACME, BOB],
    );
    expect(await begin(BOB_TARGET)).toEqual({ found: true, userId: bob!.id });
    expect((await failureOf(world.auth.getVisibleProjects({}, token)))?.reason).toBe('USER_GONE');
    expect(await resolve(ACME)).toEqual({ ...EVERYTHING, users: [ANN] });
    const { people } = await world.auth.listProjectPeople({ projectId: ALPHA }, await world.asOrganization(ACME));
    expect(people).toEqual([]);
    expect((await world.tryLoad([user(ACME, BOB)])).refused).toEqual([
      '1: email: is being deleted; run its deletion again first',
    ]);
    await finish(BOB_TARGET);
    expect([await count('users', ACME), await count('project_roles', ACME), await count('projects', ACME)]).toEqual([1, 0, 2]);
    await begin({ $case: 'email', value: ANN });
    await finish({ $case: 'email', value: ANN });
    expect(await world.rows('select created_by from auth.projects where organization = $1', [ACME])).toEqual([
      { created_by: null },
      { created_by: null },
    ]);
    expect(await resolve(GLOBEX)).toEqual(EVERYTHING);
  });
});

describe('an organization', () => {
  it('is refused, as are its keys, from the first step of its deletion on, and no longer exists after the last', async () => {
    const key = await world.createKey(ACME);
    const other = await world.createKey(GLOBEX);
    expect(await begin(ORGANIZATION)).toEqual({ found: true, userId: '' });
    expect((await failureOf(world.auth.authenticateKey({ apiKey: key, audiences: ['calls'] })))?.reason).toBe('INVALID_API_KEY');
    expect((await resolve(ACME)).organizationExists).toBe(false);
    expect((await world.tryLoad([organization(ACME, { name: 'Back again' })])).refused).toEqual([
      '1: id: is being deleted; run its deletion again first',
    ]);
    await finish(ORGANIZATION);
    for (const table of ['organizations', 'users', 'projects', 'project_roles', 'api_keys', 'key_directory']) {
      expect(await count(table, ACME), table).toBe(0);
    }
    expect(await count('audit', ACME)).toBeGreaterThan(0);
    expect((await world.auth.authenticateKey({ apiKey: other, audiences: ['calls'] })).organizationId).toBe(GLOBEX);
    expect(await resolve(GLOBEX)).toEqual(EVERYTHING);
  });
});

describe('the last step', () => {
  it('removes an organization with more projects and users than one statement deletes', async () => {
    await world.rows(
      `insert into auth.users (organization, user_id, email, email_folded)
        select $1, ('00000000-0000-4000-9000-' || lpad(n::text, 12, '0'))::uuid, n || '@many.example', n || '@many.example'
        from generate_series(1, 1100) n`,
      [ACME],
    );
    await world.rows(
      `insert into auth.projects (organization, project_id, created_by)
        select $1, user_id, user_id from auth.users where organization = $1 and email like '%@many.example'`,
      [ACME],
    );
    await begin(ORGANIZATION);
    expect(await finish(ORGANIZATION)).toEqual({ more: false });
    for (const table of ['organizations', 'users', 'projects', 'project_roles']) expect(await count(table, ACME), table).toBe(0);
    expect(await resolve(GLOBEX)).toEqual(EVERYTHING);
  });

  it('removes nothing without the first', async () => {
    const key = await world.createKey(ACME);
    for (const target of [ALPHA_TARGET, BOB_TARGET, ORGANIZATION]) await finish(target);
    expect(await resolve(ACME)).toEqual(EVERYTHING);
    expect((await world.auth.authenticateKey({ apiKey: key, audiences: ['calls'] })).organizationId).toBe(ACME);
  });
});

describe('both steps', () => {
  it('report an unknown record, and may be repeated', async () => {
    const unknown: Target[] = [
      { $case: 'projectId', value: '00000000-0000-4000-8000-0000000000ff' },
      { $case: 'email', value: 'nobody@example.com' },
    ];
    for (const target of unknown) {
      expect(await begin(target)).toEqual({ found: false, userId: '' });
      expect(await finish(target)).toEqual({ more: false });
    }
    expect((await begin(ORGANIZATION, tenant('nowhere'))).found).toBe(false);
    for (const target of [ALPHA_TARGET, BOB_TARGET]) {
      expect((await begin(target)).found).toBe(true);
      expect((await begin(target)).found).toBe(true);
      for (let i = 0; i < 2; i++) expect(await finish(target)).toEqual({ more: false });
    }
    expect(await resolve(ACME)).toEqual({ ...EVERYTHING, users: [ANN], projectIds: [BETA] });
  });

  it('refuse an invalid target', async () => {
    for (const target of [
      undefined,
      { $case: 'projectId', value: 'alpha' },
      { $case: 'email', value: `${ANN}\u0000` },
    ] as Target[]) {
      expect((await failureOf(begin(target)))?.kind).toBe('invalid_argument');
    }
  });
});
