import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { letCommitsBeHeld, whileHeld, type Hold } from '@crs/testing/hold';
import { randomFrom } from '@crs/testing/random';
import { bodyOf, create, expireLeases, read, restart, startFaultyWorld, type Created, type FaultyWorld } from './_faults.ts';

let world: FaultyWorld;
/** The outcomes of all requests to create a project. */
const outcomes: Created[] = [];

beforeAll(async () => {
  world = await startFaultyWorld();
  await letCommitsBeHeld(world.database, ['projects.creations', 'auth.projects', 'projects.projects']);
});
afterAll(() => world?.close());

const STEPS: (Hold & { does: string })[] = [
  { does: 'reserves the idempotency key', table: 'projects.creations', at: 'statement', by: 'crs-projects' },
  { does: 'commits the idempotency key', table: 'projects.creations', at: 'commit', by: 'crs-projects' },
  { does: 'looks up the people', table: 'auth.users', at: 'statement', by: 'crs-auth' },
  { does: 'registers the project', table: 'auth.projects', at: 'statement', by: 'crs-auth' },
  { does: 'inserts the roles', table: 'auth.project_roles', at: 'statement', by: 'crs-auth' },
  { does: 'commits the project and roles at auth', table: 'auth.projects', at: 'commit', by: 'crs-auth' },
  { does: 'stores the project', table: 'projects.projects', at: 'statement', by: 'crs-projects' },
  { does: 'commits the project and the response', table: 'projects.projects', at: 'commit', by: 'crs-projects' },
];
const CASES = STEPS.flatMap((step) => {
  // A service that doesn't run the statement can't distinguish between the steps, so killing it at a few of them is enough.
  const victims: ('auth' | 'projects' | 'api-gateway')[] = step.by === 'crs-auth' ? ['auth'] : ['projects'];
  if (step.by === 'crs-auth' && (step.at === 'commit' || step.table === 'auth.users')) victims.push('projects');
  if (step.by === 'crs-projects' && step.at === 'commit') victims.push('api-gateway');
  return victims.map((victim) => ({ ...step, victim }));
});

interface Stored {
  id: string;
  creations: number;
  answer: object;
  registered: number;
  roles: string[];
}

/** The stored projects with a name. Each request has its own name. */
async function stored(name: string): Promise<Stored[]> {
  return world.database.query<Stored>(
    `select p.project_id as id,
        (select count(*)::int from projects.creations c where (c.organization, c.project_id) = (p.organization, p.project_id)) as creations,
        (select response from projects.creations c where (c.organization, c.project_id) = (p.organization, p.project_id)) as answer,
        (select count(*)::int from auth.projects a where (a.organization, a.project_id) = (p.organization, p.project_id)) as registered,
        array(select u.email || ' ' || r.role from auth.project_roles r join auth.users u using (organization, user_id)
          where (r.organization, r.project_id) = (p.organization, p.project_id) order by 1) as roles
      from projects.projects p where organization = 'acme' and name = $1`,
    [name],
  );
}

/** Expects the acknowledged project to be stored once, complete and equal to its response, and to be replayed for its key. */
async function expectWhole({ key, body, answer }: Created): Promise<void> {
  const rows = await stored(body.name);
  const roles = [`${body.lead_email} lead`, ...body.member_emails.map((email) => `${email} member`)].toSorted();
  expect(rows).toEqual([{ id: answer.project_id, creations: 1, answer: expect.anything(), registered: 1, roles }]);
  expect(await read(world, answer.project_id)).toEqual(answer);
  expect(await create(world, key, body)).toMatchObject({ answer, replayed: true });
}

describe('a project whose creation is retried until it succeeds is created once and completely,', () => {
  it.each(CASES)('even if $victim dies during the step that $does', async ({ victim, ...step }) => {
    // If this test is retried, it needs another key.
    const name = `${step.table} ${step.at} ${victim} ${outcomes.length}`;
    const held = await whileHeld(
      world.databaseUrl,
      step,
      () => ({ created: create(world, name, bodyOf(name, outcomes.length)) }),
      () => world.processes.kill(victim),
      { reads: step.table === 'auth.users' },
    );
    await world.processes.start(victim);
    // A surviving projects service releases the key itself, unless it can't know whether it has reserved it.
    if (victim === 'projects' || step.table === 'projects.creations') await expireLeases(world);
    const created = await held.created;
    outcomes.push(created);
    await expectWhole(created);
    // The client noticed the fault, unless projects retried its call after auth had restarted. Each error response allowed a retry.
    if (victim !== 'auth') expect(created.attempts.length).toBeGreaterThan(1);
    expect(created.attempts.filter((status) => ![0, 409, 503, 504].includes(status))).toEqual([201]);
  });

  it('by replaying the stored response, if projects dies after its commit and before it sends the response', async () => {
    const held = await whileHeld(
      world.databaseUrl,
      { table: 'projects.projects', at: 'commit', by: 'crs-projects' },
      () => ({ created: create(world, 'committed', bodyOf('committed')) }),
      // The connection of a paused process stays open. PostgreSQL would abort the commit of a dead one, if it noticed in time.
      async () => world.processes.pause('projects'),
    );
    await vi.waitFor(async () => expect(await stored('committed')).toMatchObject([{ answer: expect.anything() }]), 10_000);
    await world.processes.kill('projects');
    await world.processes.start('projects');
    const created = await held.created;
    outcomes.push(created);
    await expectWhole(created);
    expect(created.replayed).toBe(true);
  });

  it('even if all processes die while projects stores it', async () => {
    const held = await whileHeld(
      world.databaseUrl,
      { table: 'projects.projects', at: 'statement', by: 'crs-projects' },
      () => ({ created: create(world, 'all', bodyOf('all')) }),
      async () => {
        await Promise.all((['auth', 'projects', 'api-gateway', 'rate-limit'] as const).map((each) => world.processes.kill(each)));
      },
    );
    await Promise.all((['rate-limit', 'auth', 'projects', 'api-gateway'] as const).map((each) => world.processes.start(each)));
    await expireLeases(world);
    outcomes.push(await held.created);
    await expectWhole(outcomes.at(-1)!);
  });
});

describe('while random processes are killed', () => {
  it(
    'every acknowledged project is stored once, and every other requested project at most once',
    { timeout: 240_000 },
    async () => {
      const stop = new AbortController();
      const random = randomFrom(1);
      let sent = 0;
      const client = async () => {
        while (!stop.signal.aborted) {
          const name = `random ${sent++}`;
          // Every fourth client gives up during the request.
          const giveUp = sent % 4 === 0 ? AbortSignal.timeout(5 + Math.floor(random() * 40)) : undefined;
          outcomes.push(await create(world, name, bodyOf(name, sent), giveUp));
        }
      };
      const clients = Array.from({ length: 3 }, client);
      const victims = ['projects', 'auth', 'api-gateway'] as const;
      for (const victim of victims) {
        await sleep(200 + random() * 500);
        await restart(world, victim);
      }
      const answered = () => outcomes.filter(({ answer }) => answer);
      // On a busy machine, few requests succeed before the last process is killed.
      await vi.waitFor(() => expect(answered().length).toBeGreaterThan(CASES.length + 5), 20_000);
      stop.abort();
      await Promise.all(clients);
      const acknowledged = answered();
      expect(acknowledged.some(({ attempts }) => attempts.length > 1)).toBe(true);
      for (const created of acknowledged) await expectWhole(created);
      for (const { body } of outcomes.filter(({ answer }) => !answer))
        expect((await stored(body.name)).length).toBeLessThanOrEqual(1);
    },
  );

  it('each idempotency key has one project, and each project has its key, its response and its entry at auth', async () => {
    const projects = await world.database.query(
      `select p.project_id from projects.projects p
        left join projects.creations c on (c.organization, c.project_id) = (p.organization, p.project_id) and c.response is not null
        left join auth.projects a on (a.organization, a.project_id) = (p.organization, p.project_id)
      where c.project_id is null or a.project_id is null`,
    );
    expect(projects).toEqual([]);
    const answers = await world.database.query(
      `select c.idempotency_key from projects.creations c left join projects.projects p
        on (c.organization, c.project_id) = (p.organization, p.project_id) where (c.response is null) <> (p.project_id is null)`,
    );
    expect(answers).toEqual([]);
    const [count] = await world.database.query(
      `select count(*)::int as all, count(distinct name)::int as names from projects.projects`,
    );
    expect(count!['all']).toBe(count!['names']);
  });
});
