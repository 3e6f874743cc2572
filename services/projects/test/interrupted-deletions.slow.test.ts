import { setTimeout as sleep } from 'node:timers/promises';
import { ERASURE_STEPS, type ErasureStep } from '@crs/testing/erase';
import { lockWaiter } from '@crs/testing/hold';
import { openSession, type Session } from '@crs/testing/sql';
import { startWorld, type OwnWorld } from '@crs/testing/world';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  eraseOf,
  everythingOf,
  fill,
  ONE,
  orphans,
  TARGETS,
  totalOf,
  tracesOf,
  TWO,
  userIdOf,
  visibleProjects,
  wrongDays,
  type Filled,
} from './_deletions.ts';
import { ALPHA, ANN, BETA, BOB, office, project, user } from './_records.ts';

let world: OwnWorld;
let locks: Session;
let globex: Filled;
let globexRows: Record<string, string[]>;
/** Each test has an organization of its own. */
let acme: Filled;

beforeAll(async () => {
  world = await startWorld();
  locks = await openSession(world.databaseUrl);
  globex = await fill(world, 'globex');
  globexRows = await everythingOf(world, globex.id);
});
afterAll(async () => {
  await locks?.close();
  await world?.close();
});
beforeEach(async () => {
  acme = await fill(world);
});
afterEach(async () => {
  expect(await everythingOf(world, globex.id)).toEqual(globexRows);
  expect(await wrongDays(world)).toEqual([]);
  expect(await orphans(world)).toEqual([]);
});

type Kind = keyof typeof TARGETS;
const KINDS: Kind[] = ['project', 'user', 'organization'];

const call = (more: object, organization = acme.id) => ({ type: 'call', organization, id: 'new', ...more });
const entity = (organization = acme.id) => ({ type: 'entity', organization, id: TWO, project_id: ALPHA });

const NO_PROJECT = 'project_id: must be a project of this organization';
const NO_ORGANIZATION = 'organization: must be an organization that exists';
const nobody = (field: string) => `${field}: must be the e-mail of a user of this organization`;
const BEING_DELETED = 'is being deleted; run its deletion again first';
/** Import lines that name the record that is being deleted, each with the expected error. */
const NAMING: Record<Kind, () => [line: object, problem: string][]> = {
  project: () => [
    [project(acme.id, ALPHA, { name: 'Back' }), `id: ${BEING_DELETED}`],
    [call({ project_id: ALPHA }), NO_PROJECT],
    [entity(), NO_PROJECT],
  ],
  user: () => [
    [user(acme.id, ANN, { name: 'Back' }), `email: ${BEING_DELETED}`],
    [call({ conducted_by: ANN }), nobody('conducted_by')],
    [call({ notes: [{ email: ANN, text: 'x' }] }), nobody('notes[0].email')],
    [project(acme.id, BETA, { created_by: ANN }), nobody('created_by')],
    [project(acme.id, BETA, { members: [{ email: ANN }] }), nobody('members[0].email')],
  ],
  organization: () => [
    [{ type: 'organization', id: acme.id, name: 'Back' }, `id: ${BEING_DELETED}`],
    ...[user(acme.id, ANN), office(acme.id, 'Rome'), project(acme.id, ALPHA), call({}), entity()].map(
      (line): [object, string] => [line, NO_ORGANIZATION],
    ),
  ],
};

/** Starts a deletion that fails before `step`. */
async function interruptBefore(kind: Kind, step: ErasureStep): Promise<void> {
  const stop = (reached: ErasureStep) => {
    if (reached === step) throw new Error('interrupted');
  };
  await expect(eraseOf(world, acme.id, kind, stop)).rejects.toThrow('interrupted');
}

/** Expects the deletion to be complete. Only the feeds of changes keep the ids of deleted records, for their followers. */
async function expectGone(kind: Kind, annsId: string): Promise<void> {
  if (kind === 'organization') {
    for (const [table, rows] of Object.entries(await everythingOf(world, acme.id))) expect(rows, table).toEqual([]);
    return;
  }
  for (const [trace, kept] of kind === 'project'
    ? [
        [ALPHA, 'projects.changes'],
        ['alpha-', 'calls.changes'],
        [ONE, 'entities.changes'],
      ]
    : [[annsId], [ANN]])
    expect(await tracesOf(world, acme.id, trace!)).toEqual(kept === undefined ? [] : [kept]);
  expect(await totalOf(world, acme.key)).toBe(kind === 'project' ? 3 : 5);
}

describe.each(KINDS)('a deletion of a %s', (kind) => {
  it('that is interrupted before it begins changes nothing', async () => {
    const before = await everythingOf(world, acme.id);
    await interruptBefore(kind, 'begin');
    expect(await everythingOf(world, acme.id)).toEqual(before);
  });

  it('that is interrupted before each later step makes import lines that name the record fail, and a last run finishes it', async () => {
    const annsId = await userIdOf(world, acme.id, ANN);
    const lines = NAMING[kind]();
    for (const step of ERASURE_STEPS.slice(1)) {
      await interruptBefore(kind, step);
      const before = await everythingOf(world, acme.id);
      expect(await world.tryLoad(lines.map(([line]) => line)), step).toEqual({
        accepted: 0,
        unchanged: 0,
        refused: lines.map(([, problem], i) => `${i + 1}: ${problem}`),
      });
      expect(await everythingOf(world, acme.id), step).toEqual(before);
    }
    expect(await eraseOf(world, acme.id, kind)).toBe(true);
    await expectGone(kind, annsId);
    expect(await eraseOf(world, acme.id, kind)).toBe(false);
  });

  it('that two operators run at once succeeds', async () => {
    const annsId = await userIdOf(world, acme.id, ANN);
    const found = await Promise.all([eraseOf(world, acme.id, kind), eraseOf(world, acme.id, kind)]);
    expect(found).toContain(true);
    await expectGone(kind, annsId);
  });
});

describe('after the first step of a deletion', () => {
  it('the deleted project is hidden from users', async () => {
    expect(await visibleProjects(world, acme.ann)).toContain(ALPHA);
    await interruptBefore('project', 'entities');
    expect(await visibleProjects(world, acme.ann)).not.toContain(ALPHA);
    expect(await visibleProjects(world, acme.ann)).toContain(BETA);
  });

  it('the tokens of the deleted user are refused', async () => {
    await interruptBefore('user', 'entities');
    await expect(visibleProjects(world, acme.ann)).rejects.toMatchObject({ kind: 'unauthenticated' });
  });
});

describe('an import that waits for another one while a deletion begins refuses lines that name the deleted record', () => {
  it.each([
    ['entities', 'project', () => entity(), NO_PROJECT],
    ['entities', 'organization', () => entity(), NO_ORGANIZATION],
    ['projects', 'project', () => project(acme.id, ALPHA, { name: 'Back' }), `id: ${BEING_DELETED}`],
    ['projects', 'user', () => project(acme.id, BETA, { created_by: ANN }), nobody('created_by')],
    ['projects', 'organization', () => office(acme.id, 'Rome'), NO_ORGANIZATION],
  ] as const)('at %s, for a deleted %s', async (service, kind, line, problem) => {
    const annsId = await userIdOf(world, acme.id, ANN);
    await locks.query('begin');
    await locks.query(`select pg_advisory_xact_lock(hashtextextended($1, 0))`, [`${service}.import:${acme.id}`]);
    const importing = world.tryLoad([line()]);
    await lockWaiter(world.databaseUrl, `crs-${service}-import`);
    const deletionStarted = Promise.withResolvers<void>();
    const erasing = eraseOf(world, acme.id, kind, (step) => (step === 'entities' ? deletionStarted.resolve() : undefined));
    await deletionStarted.promise;
    await locks.query('commit');
    expect(await importing).toEqual({ accepted: 0, unchanged: 0, refused: [`1: ${problem}`] });
    expect(await erasing).toBe(true);
    await expectGone(kind, annsId);
  });
});

describe('an import of calls that waits for another one before a deletion begins', () => {
  it.each([
    ['project', () => call({ project_id: ALPHA })],
    ['user', () => call({ conducted_by: ANN })],
    ['organization', () => call({})],
  ] as const)('is stored, and the deletion of a %s covers it', async (kind, line) => {
    const annsId = await userIdOf(world, acme.id, ANN);
    await locks.query('begin');
    await locks.query(`select pg_advisory_xact_lock(hashtextextended($1, 0))`, [`calls.import:${acme.id}`]);
    const importing = world.tryLoad([line()]);
    await lockWaiter(world.databaseUrl, 'crs-calls-import');
    // It begins at calls, where it waits behind the import.
    const erasing = eraseOf(world, acme.id, kind);
    await locks.query('commit');
    expect(await importing).toEqual({ accepted: 1, unchanged: 0, refused: [] });
    expect(await erasing).toBe(true);
    await expectGone(kind, annsId);
  });
});

describe('during concurrent imports and creations', () => {
  it.each(KINDS)('a deleted %s leaves no row that refers to it', async (kind) => {
    const others = await Promise.all([fill(world), fill(world)]);
    await Promise.all([acme, ...others].map((organization) => raceIn(organization, kind)));
    expect(await orphans(world)).toEqual([]);
    expect(await wrongDays(world)).toEqual([]);
    for (const { id } of [acme, ...others]) {
      if (kind === 'project') expect(await tracesOf(world, id, ALPHA)).toEqual(['projects.changes']);
      if (kind === 'organization')
        for (const [table, rows] of Object.entries(await everythingOf(world, id))) expect(rows, table).toEqual([]);
    }
  });
});

/** Deletes a record while imports and requests of the same organization name it. */
async function raceIn({ id, key }: Filled, kind: Kind): Promise<void> {
  const later = async (work: () => Promise<unknown>) => {
    await sleep(Math.random() * 60);
    await work();
  };
  const calls = Array.from({ length: 20 }, (_, i) =>
    call({ id: `new-${i}`, project_id: ALPHA, conducted_by: ANN, notes: [{ email: ANN, text: 'x' }] }, id),
  );
  const create = (n: number) =>
    world.rest('/v1/projects', {
      key,
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': `raced ${n}` },
      body: JSON.stringify({ name: 'Raced', lead_email: BOB }),
    });
  await Promise.all([
    later(() => eraseOf(world, id, kind)),
    later(() => world.tryLoad([...calls.slice(0, 10), entity(id)])),
    later(() => world.tryLoad(calls.slice(10))),
    later(() => world.tryLoad([project(id, BETA, { created_by: ANN, members: [{ email: ANN }] }), office(id, 'Rome')])),
    ...[1, 2, 3].map((n) => later(() => create(n))),
  ]);
}
