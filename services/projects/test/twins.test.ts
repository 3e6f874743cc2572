import type { CreateProjectRequest } from '@crs/proto/crs/projects/v1/projects';
import { lockWaiter } from '@crs/testing/hold';
import { callerToken, startInstance } from '@crs/testing/instance';
import { startRelay, type Relay } from '@crs/testing/relay';
import { openSession, type Session } from '@crs/testing/sql';
import { startWorld, type OwnWorld } from '@crs/testing/world';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { projectsClient, type ProjectsClient } from './_client.ts';
import { ANN, BOB, grantOf, project, projectsOf, tenantRecords } from './_records.ts';

let world: OwnWorld;
let locks: Session;
/** A proxy between the slow instance and auth. It can hold responses back. */
let relay: Relay;
/** One of two instances of the service that get the same request. `slow` is its client, and `quick` that of the other instance. */
let slowInstance: { address: string; stop(): Promise<void> };
let slow: ProjectsClient;
let quick: ProjectsClient;
const keys = new Map<string, string>();
let token: string;

beforeAll(async () => {
  world = await startWorld();
  locks = await openSession(world.databaseUrl);
  await world.load([...tenantRecords('acme'), ...tenantRecords('globex')]);
  for (const id of ['acme', 'globex']) keys.set(id, await world.createKey(id));
  relay = await startRelay(world.stack.addresses.auth);
  slowInstance = await startInstance(world, 'projects', relay.address);
  slow = projectsClient(slowInstance.address);
  quick = projectsClient(world.stack.addresses.projects);
});
afterAll(async () => {
  quick?.close();
  slow?.close();
  await slowInstance?.stop();
  await relay?.close();
  await locks?.close();
  await world?.close();
});
beforeEach(async () => {
  await world.query('truncate projects.projects, projects.creations');
  await world.query('delete from auth.projects');
  const theirs = await callerToken(world, keys.get('globex')!, 'projects');
  await quick.createProject({ ...REQUEST, name: 'Theirs' }, { token: theirs });
  token = await callerToken(world, keys.get('acme')!, 'projects');
});
afterEach(() => relay.delay(0));

/** Longer than any test. */
const HELD_MS = 600_000;

const REQUEST: CreateProjectRequest = {
  idempotencyKey: 'client:twins',
  name: 'Twins',
  leadEmail: ANN,
  memberEmails: [BOB],
  billingOfficeName: undefined,
  summary: undefined,
};
const create = (of: ProjectsClient, more: Partial<CreateProjectRequest> = {}) =>
  of.createProject({ ...REQUEST, ...more }, { token });
const IN_FLIGHT = { kind: 'aborted', reason: 'IDEMPOTENCY_KEY_IN_FLIGHT' };
const expireLease = () => world.query('update projects.creations set lease_until = now()');

/**
 * Sends a request to the slow instance. Holds it up after auth has looked up the people, or granted their roles, and before auth's response
 * arrives.
 */
async function holdUpAt(table: 'auth.users' | 'auth.project_roles') {
  await locks.query('begin');
  await locks.query(`lock table ${table} in access exclusive mode`);
  const late = create(slow);
  late.catch(() => undefined);
  await lockWaiter(world.databaseUrl, 'crs-auth');
  relay.delay(HELD_MS);
  await locks.query('commit');
  return { late };
}

/** Expects exactly one project, with its members, and that of the other organization, which used the same idempotency key. */
async function expectOne(projectId: string, name = 'Twins'): Promise<void> {
  expect(await projectsOf(world, 'acme')).toEqual([
    expect.objectContaining({ id: projectId, name, billing_office_name: 'London' }),
  ]);
  expect(await grantOf(world, 'acme', projectId)).toEqual({ createdBy: null, roles: [`${ANN} lead`, `${BOB} member`] });
  expect(await projectsOf(world, 'globex')).toEqual([expect.objectContaining({ name: 'Theirs' })]);
}

describe.each(['auth.users', 'auth.project_roles'] as const)('a creation that hangs past its lease at %s', (table) => {
  it('keeps its idempotency key until the lease ends, then a retry takes over, and both return the project of the retry', async () => {
    const { late } = await holdUpAt(table);
    await expect(create(quick)).rejects.toMatchObject({
      ...IN_FLIGHT,
      retryAfterSeconds: expect.toSatisfy((s: number) => s > 10 && s <= 15),
    });
    await expireLease();
    const taken = await create(quick);
    expect(taken.replayed).toBe(false);
    await expectOne(taken.project!.projectId);
    relay.delay(0);
    expect(await late).toEqual({ project: taken.project, replayed: true });
    await expectOne(taken.project!.projectId);
    expect(await create(quick)).toEqual({ project: taken.project, replayed: true });
  });

  it('does not undo later changes of the project when it resumes', async () => {
    const { late } = await holdUpAt(table);
    await expireLease();
    const { project: taken } = await create(quick);
    await world.load([
      project('acme', taken!.projectId, {
        name: 'Renamed',
        billing_office_name: 'London',
        members: [{ email: ANN, role: 'lead' }, { email: BOB }],
      }),
    ]);
    relay.delay(0);
    expect((await late).project).toEqual(taken);
    await expectOne(taken!.projectId, 'Renamed');
  });

  it('creates nothing when it resumes if a retry has failed and released the key', async () => {
    const { late } = await holdUpAt(table);
    await expireLease();
    await world.operator.auth.setUserDisabled({ email: BOB, disabled: true }, await world.operator.operator('acme'));
    try {
      await expect(create(quick)).rejects.toMatchObject({ kind: 'invalid_argument', field: 'member_emails' });
    } finally {
      await world.operator.auth.setUserDisabled({ email: BOB, disabled: false }, await world.operator.operator('acme'));
    }
    const other = await create(quick, { name: 'Other' });
    relay.delay(0);
    await expect(late).rejects.toMatchObject(IN_FLIGHT);
    await expectOne(other.project!.projectId, 'Other');
  });
});

describe('a creation that hangs past its lease while it stores the project', () => {
  it('makes a retry wait, and both return its project', async () => {
    await locks.query('begin');
    await locks.query('lock table projects.projects in share mode');
    const first = create(slow);
    await lockWaiter(world.databaseUrl, 'crs-projects');
    // The second request waits for the first.
    const second = expireLease().then(() => create(quick));
    await locks.query('commit');
    const [one, two] = await Promise.all([first, second]);
    expect(two).toEqual({ project: one.project, replayed: true });
    await expectOne(one.project!.projectId);
  });
});

describe('an idempotency key', () => {
  it('of a pending request is refused with another body', async () => {
    const { late } = await holdUpAt('auth.users');
    await expect(create(quick, { name: 'Other' })).rejects.toMatchObject({ reason: 'IDEMPOTENCY_KEY_REUSED' });
    relay.delay(0);
    await expectOne((await late).project!.projectId);
  });

  it('is pruned after a day, and then creates another project', async () => {
    const first = await create(quick);
    await world.query(`update projects.creations set created_at = created_at - interval '23 hours 59 minutes'`);
    expect(await create(quick)).toEqual({ project: first.project, replayed: true });
    await world.query(`update projects.creations set created_at = created_at - interval '2 minutes'`);
    const second = await create(quick, { name: 'Other' });
    expect(second.project!.projectId).not.toBe(first.project!.projectId);
    expect(await projectsOf(world, 'acme')).toHaveLength(2);
  });
});

describe('old idempotency keys of an organization that creates no more projects', () => {
  it.each([
    ['23 hours 59 minutes', 1_500],
    ['24 hours 1 minute', 0],
  ])('aged %s: %d are left after the organization has sent another request', async (age, kept) => {
    // The service prunes the keys of an organization once an hour, so each case has its own organization.
    const organization = `quiet-${kept}`;
    await world.load([{ type: 'organization', id: organization, name: 'Quiet', write_surface: true }]);
    await world.query(
      `insert into projects.creations (organization, idempotency_key, body_hash, project_id, lease_id, lease_until, created_at)
        select $1, 'key-' || n, '', gen_random_uuid(), gen_random_uuid(), now(), now() - $2::interval from generate_series(1, 1500) n`,
      [organization, age],
    );
    const key = await world.createKey(organization);
    expect((await world.rest('/v1/billing-offices', { key })).status).toBe(200);
    const { rows } = await world.query('select count(*)::int as n from projects.creations where organization = $1', [
      organization,
    ]);
    expect(rows[0].n).toBe(kept);
  });
});
