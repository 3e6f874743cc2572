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
/** Stands between the slow twin and auth, whose answers it can hold back. */
let relay: Relay;
/** Two instances of the service. */
let slowTwin: { address: string; stop(): Promise<void> };
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
  slowTwin = await startInstance(world, 'projects', relay.address);
  slow = projectsClient(slowTwin.address);
  quick = projectsClient(world.stack.addresses.projects);
});
afterAll(async () => {
  quick?.close();
  slow?.close();
  await slowTwin?.stop();
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
const ask = (of: ProjectsClient, more: Partial<CreateProjectRequest> = {}) =>
  of.createProject({ ...REQUEST, ...more }, { token });
const IN_FLIGHT = { kind: 'aborted', reason: 'IDEMPOTENCY_KEY_IN_FLIGHT' };
const expireLease = () => world.query('update projects.creations set lease_until = now()');

/** Sends a request to the slow twin and holds it up once auth has looked the people up, or granted their roles, but before the answer arrives. */
async function holdUpAt(table: 'auth.users' | 'auth.project_roles') {
  await locks.query('begin');
  await locks.query(`lock table ${table} in access exclusive mode`);
  const late = ask(slow);
  late.catch(() => undefined);
  await lockWaiter(world.databaseUrl, 'crs-auth');
  relay.delay(HELD_MS);
  await locks.query('commit');
  return { late };
}

/** Expects exactly one project, with its people, beside that of the other organization with the same key. */
async function expectOne(projectId: string, name = 'Twins'): Promise<void> {
  expect(await projectsOf(world, 'acme')).toEqual([
    expect.objectContaining({ id: projectId, name, billing_office_name: 'London' }),
  ]);
  expect(await grantOf(world, 'acme', projectId)).toEqual({ createdBy: null, roles: [`${ANN} lead`, `${BOB} member`] });
  expect(await projectsOf(world, 'globex')).toEqual([expect.objectContaining({ name: 'Theirs' })]);
}

describe.each(['auth.users', 'auth.project_roles'] as const)('a request that hangs past its lease at %s', (table) => {
  it('holds its key during the lease, is taken over after it, and then returns the answer of its twin', async () => {
    const { late } = await holdUpAt(table);
    await expect(ask(quick)).rejects.toMatchObject({
      ...IN_FLIGHT,
      retryAfterSeconds: expect.toSatisfy((s: number) => s > 10 && s <= 15),
    });
    await expireLease();
    const taken = await ask(quick);
    expect(taken.replayed).toBe(false);
    await expectOne(taken.project!.projectId);
    relay.delay(0);
    expect(await late).toEqual({ project: taken.project, replayed: true });
    await expectOne(taken.project!.projectId);
    expect(await ask(quick)).toEqual({ project: taken.project, replayed: true });
  });

  it('does not undo later changes of the project when it ends', async () => {
    const { late } = await holdUpAt(table);
    await expireLease();
    const { project: taken } = await ask(quick);
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

  it('creates nothing if its twin failed and gave the key up', async () => {
    const { late } = await holdUpAt(table);
    await expireLease();
    await world.operator.auth.setUserDisabled({ email: BOB, disabled: true }, await world.operator.operator('acme'));
    try {
      await expect(ask(quick)).rejects.toMatchObject({ kind: 'invalid_argument', field: 'member_emails' });
    } finally {
      await world.operator.auth.setUserDisabled({ email: BOB, disabled: false }, await world.operator.operator('acme'));
    }
    const other = await ask(quick, { name: 'Other' });
    relay.delay(0);
    await expect(late).rejects.toMatchObject(IN_FLIGHT);
    await expectOne(other.project!.projectId, 'Other');
  });
});

describe('a request that hangs past its lease while it stores the project', () => {
  it('makes its twin wait, and both return its answer', async () => {
    await locks.query('begin');
    await locks.query('lock table projects.projects in share mode');
    const first = ask(slow);
    await lockWaiter(world.databaseUrl, 'crs-projects');
    // The second request waits for the first.
    const second = expireLease().then(() => ask(quick));
    await locks.query('commit');
    const [one, two] = await Promise.all([first, second]);
    expect(two).toEqual({ project: one.project, replayed: true });
    await expectOne(one.project!.projectId);
  });
});

describe('a key', () => {
  it('of a pending request refuses another body', async () => {
    const { late } = await holdUpAt('auth.users');
    await expect(ask(quick, { name: 'Other' })).rejects.toMatchObject({ reason: 'IDEMPOTENCY_KEY_REUSED' });
    relay.delay(0);
    await expectOne((await late).project!.projectId);
  });

  it('is forgotten after a day, and then makes another project', async () => {
    const first = await ask(quick);
    await world.query(`update projects.creations set created_at = created_at - interval '23 hours 59 minutes'`);
    expect(await ask(quick)).toEqual({ project: first.project, replayed: true });
    await world.query(`update projects.creations set created_at = created_at - interval '2 minutes'`);
    const second = await ask(quick, { name: 'Other' });
    expect(second.project!.projectId).not.toBe(first.project!.projectId);
    expect(await projectsOf(world, 'acme')).toHaveLength(2);
  });
});

describe('old keys of an organization that creates no more', () => {
  it.each([
    ['23 hours 59 minutes', 1_500],
    ['24 hours 1 minute', 0],
  ])('after %s: %d are kept once it reads', async (age, kept) => {
    // It looks for old keys once an hour, so each case has an organization of its own.
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
