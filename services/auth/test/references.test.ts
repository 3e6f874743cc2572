import { beforeAll, describe, expect, it } from 'vitest';
import type { CallOptions } from '@crs/kit/rpc/client';
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

const GAMMA = '00000000-0000-4000-8000-00000000000c';
const many = (n: number) => Array.from({ length: n }, (_, i) => `nobody${i}@example.com`);
const manyIds = (n: number) => Array.from({ length: n }, (_, i) => `00000000-0000-4000-a000-${String(i).padStart(12, '0')}`);

let world: SharedAuthWorld;
beforeAll(async () => {
  world = await sharedAuthWorld([
    ...peopleAndProjects(TENANTS),
    ...TENANTS.map((tenant) => organization(tenant, { write_surface: true })),
    user(ACME, 'Zoë@example.com', { name: 'Zoë' }),
    user(ACME, 'nameless@example.com', { name: null }),
    user(ACME, 'gone@example.com'),
    user(GLOBEX, 'globex@example.com'),
    project(GLOBEX, GAMMA),
  ]);
  await world.operator.auth.setUserDisabled({ email: 'gone@example.com', disabled: true }, await world.operate(ACME));
});

const idOf = async (tenant: string, email: string) => {
  const [row] = await world.rows<{ id: string }>('select user_id as id from auth.users where organization = $1 and email = $2', [
    tenant,
    email,
  ]);
  return row!.id;
};

describe('ResolveProfiles', () => {
  let acme: CallOptions;
  let globex: CallOptions;
  beforeAll(async () => {
    [acme, globex] = [await world.asOrganization(ACME), await world.asOrganization(GLOBEX)];
  });
  const resolve = async (emails: string[], caller = acme) => {
    const { profiles } = await world.auth.resolveProfiles({ emails }, caller);
    return profiles.toSorted((a, b) => (a.email < b.email ? -1 : 1));
  };

  it('finds users of its own organization, as recorded, by an e-mail in any case and Unicode form', async () => {
    expect(await resolve(['ANN@example.com', 'zoe\u0308@EXAMPLE.com', 'nameless@example.com'])).toEqual([
      { userId: await idOf(ACME, 'Zoë@example.com'), email: 'Zoë@example.com', name: 'Zoë' },
      { userId: await idOf(ACME, ANN), email: ANN, name: `${ANN} of ${ACME}` },
      { userId: await idOf(ACME, 'nameless@example.com'), email: 'nameless@example.com', name: '' },
    ]);
    expect(await resolve([ANN], globex)).toEqual([{ userId: await idOf(GLOBEX, ANN), email: ANN, name: `${ANN} of ${GLOBEX}` }]);
  });

  it('omits users that are disabled, unknown or of another organization', async () => {
    expect(await resolve(['gone@example.com', 'nobody@example.com', 'globex@example.com', '', 'no e-mail'])).toEqual([]);
    expect(await resolve([])).toEqual([]);
  });

  it('returns one user for an e-mail given twice', async () => {
    expect(await resolve([ANN, ANN.toUpperCase()])).toHaveLength(1);
  });

  it('accepts 101 e-mails, and not 102', async () => {
    expect(await resolve([...many(100), ANN])).toHaveLength(1);
    expect(await failureOf(resolve([...many(101), ANN]))).toMatchObject({ kind: 'invalid_argument', field: 'emails' });
  });

  it('refuses invalid text', async () => {
    expect(await failureOf(resolve([`${ANN}\u0000`]))).toMatchObject({ kind: 'invalid_argument', field: 'emails' });
  });
});

describe('ResolveReferences', () => {
  const resolve = async (emails: string[], projectIds: string[], tenant = ACME) =>
    world.auth.resolveReferences({ emails, projectIds }, await world.operate(tenant));

  it('finds users, including disabled ones, and projects of the organization alone', async () => {
    for (const tenant of TENANTS) {
      const found = await resolve(
        [ANN, 'gone@example.com', 'globex@example.com', 'nobody@example.com'],
        [ALPHA, GAMMA, ...manyIds(1)],
        tenant,
      );
      const own = tenant === ACME ? 'gone@example.com' : 'globex@example.com';
      expect(found).toEqual({
        users: [
          { email: ANN, userId: await idOf(tenant, ANN) },
          { email: own, userId: await idOf(tenant, own) },
        ],
        projectIds: tenant === ACME ? [ALPHA] : expect.arrayContaining([ALPHA, GAMMA]),
        organizationExists: true,
      });
    }
  });

  it('returns e-mails in the spelling of the request', async () => {
    const requested = ['ANN@EXAMPLE.COM', ANN, 'ZOE\u0308@example.com'];
    expect((await resolve(requested, [])).users.map(({ email }) => email)).toEqual(requested);
  });

  it('reports an unknown organization, and finds nothing', async () => {
    expect(await resolve([ANN], [ALPHA], tenant('nowhere'))).toEqual({ users: [], projectIds: [], organizationExists: false });
  });

  it('accepts 10,000 e-mails of the greatest length and 10,000 project ids, and not 10,001 of either', async () => {
    const long = many(9_999).map((email) => `${'x'.repeat(254 - email.length)}${email}`);
    const found = await resolve([...long, BOB], [...manyIds(9_999), BETA]);
    expect([found.users.map(({ email }) => email), found.projectIds]).toEqual([[BOB], [BETA]]);
    expect(await failureOf(resolve(many(10_001), []))).toMatchObject({ kind: 'invalid_argument', field: 'emails' });
    expect(await failureOf(resolve([], manyIds(10_001)))).toMatchObject({ kind: 'invalid_argument', field: 'project_ids' });
  });

  it('refuses an invalid e-mail or project id', async () => {
    expect(await failureOf(resolve(['a\u0000@b'], []))).toMatchObject({ kind: 'invalid_argument', field: 'emails' });
    for (const id of ['', 'alpha', `{${ALPHA}}`, '00000000000040008000000000000000']) {
      expect(await failureOf(resolve([], [id])), id).toMatchObject({ kind: 'invalid_argument', field: 'project_ids' });
    }
  });
});
