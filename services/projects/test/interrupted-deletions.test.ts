import { setTimeout as sleep } from 'node:timers/promises';
import type { CallOptions } from '@crs/kit/rpc/client';
import { ERASURE_STEPS, type ErasureStep } from '@crs/testing/erase';
import { openSession, type Session } from '@crs/testing/sql';
import { startWorld, type OwnWorld } from '@crs/testing/world';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  eraseOfAcme,
  everythingOf,
  fill,
  ONE,
  orphans,
  shownTo,
  TARGETS,
  totalOf,
  tracesOf,
  TWO,
  userIdOf,
  wrongDays,
} from './_deletions.ts';
import { ALPHA, ANN, BETA, BOB, office, project, user } from './_records.ts';

let world: OwnWorld;
let locks: Session;
let keys: Record<string, string>;
let ann: CallOptions;
let theirs: Record<string, string[]>;

beforeAll(async () => {
  world = await startWorld();
  locks = await openSession(world.databaseUrl);
});
afterAll(async () => {
  await locks?.close();
  await world?.close();
});
beforeEach(async () => {
  ({ keys, ann } = await fill(world));
  theirs = await everythingOf(world, 'globex');
});
afterEach(async () => {
  expect(await everythingOf(world, 'globex')).toEqual(theirs);
  expect(await wrongDays(world)).toEqual([]);
  expect(await orphans(world)).toEqual([]);
});

type Kind = keyof typeof TARGETS;
const KINDS: Kind[] = ['project', 'user', 'organization'];

const call = (more: object) => ({ type: 'call', organization: 'acme', id: 'new', ...more });
const entity = (projectId: string) => ({ type: 'entity', organization: 'acme', id: TWO, project_id: projectId });

const NO_PROJECT = 'project_id: must be a project of this organization';
const nobody = (field: string) => `${field}: must be the e-mail of a user of this organization`;
const AGAIN = 'is being deleted; run its deletion again first';
/** Lines that name the record under deletion, each with the reason of its refusal. */
const NAMING: Record<Kind, [line: object, problem: string][]> = {
  project: [
    [project('acme', ALPHA, { name: 'Back' }), `id: ${AGAIN}`],
    [call({ project_id: ALPHA }), NO_PROJECT],
    [entity(ALPHA), NO_PROJECT],
  ],
  user: [
    [user('acme', ANN, { name: 'Back' }), `email: ${AGAIN}`],
    [call({ conducted_by: ANN }), nobody('conducted_by')],
    [call({ notes: [{ email: ANN, text: 'x' }] }), nobody('notes[0].email')],
    [project('acme', BETA, { created_by: ANN }), nobody('created_by')],
    [project('acme', BETA, { members: [{ email: ANN }] }), nobody('members[0].email')],
  ],
  organization: [
    [{ type: 'organization', id: 'acme', name: 'Back' }, `id: ${AGAIN}`],
    ...[user('acme', ANN), office('acme', 'Rome'), project('acme', ALPHA), call({}), entity(ALPHA)].map(
      (line): [object, string] => [line, 'organization: must be an organization that exists'],
    ),
  ],
};

async function interruptBefore(kind: Kind, step: ErasureStep): Promise<void> {
  const stop = (reached: ErasureStep) => {
    if (reached === step) throw new Error('interrupted');
  };
  await expect(eraseOfAcme(world, kind, stop)).rejects.toThrow('interrupted');
}

/** Expects the deletion to have left nothing but the ids of deleted calls, which the feed of changes keeps for its followers. */
async function expectGone(kind: Kind, annsId: string): Promise<void> {
  if (kind === 'organization') {
    for (const [table, rows] of Object.entries(await everythingOf(world, 'acme'))) expect(rows, table).toEqual([]);
    return;
  }
  for (const trace of kind === 'project' ? [ALPHA, 'alpha-', ONE] : [annsId, ANN])
    expect(await tracesOf(world, 'acme', trace)).toEqual(trace === 'alpha-' ? ['calls.changes'] : []);
  expect(await totalOf(world, keys['acme']!)).toBe(kind === 'project' ? 3 : 5);
}

describe.each(KINDS)('a deletion of a %s', (kind) => {
  it('that is interrupted before it begins changes nothing', async () => {
    const before = await everythingOf(world, 'acme');
    await interruptBefore(kind, 'begin');
    expect(await everythingOf(world, 'acme')).toEqual(before);
  });

  it.each(ERASURE_STEPS.slice(1))(
    'that is interrupted before %s makes lines that name the record fail, and a second run finishes it',
    async (step) => {
      const annsId = await userIdOf(world, 'acme', ANN);
      await interruptBefore(kind, step);
      const before = await everythingOf(world, 'acme');
      const lines = NAMING[kind];
      expect(await world.tryLoad(lines.map(([line]) => line))).toEqual({
        accepted: 0,
        unchanged: 0,
        refused: lines.map(([, problem], i) => `${i + 1}: ${problem}`),
      });
      expect(await everythingOf(world, 'acme')).toEqual(before);
      expect(await eraseOfAcme(world, kind)).toBe(true);
      await expectGone(kind, annsId);
      expect(await eraseOfAcme(world, kind)).toBe(false);
    },
  );

  it('that two operators run at once succeeds', async () => {
    const annsId = await userIdOf(world, 'acme', ANN);
    const found = await Promise.all([eraseOfAcme(world, kind), eraseOfAcme(world, kind)]);
    expect(found).toContain(true);
    await expectGone(kind, annsId);
  });
});

describe('from the first step on', () => {
  it('nobody sees a project under deletion', async () => {
    expect(await shownTo(world, ann)).toContain(ALPHA);
    await interruptBefore('project', 'entities');
    expect(await shownTo(world, ann)).not.toContain(ALPHA);
    expect(await shownTo(world, ann)).toContain(BETA);
  });

  it('a user under deletion is refused', async () => {
    await interruptBefore('user', 'entities');
    await expect(shownTo(world, ann)).rejects.toMatchObject({ kind: 'unauthenticated' });
  });
});

describe('an import that waits for its turn while a deletion begins refuses lines that name the deleted record', () => {
  it.each([
    ['calls', 'project', call({ project_id: ALPHA }), NO_PROJECT],
    ['calls', 'user', call({ conducted_by: ANN }), nobody('conducted_by')],
    ['calls', 'organization', call({}), 'organization: must be an organization that exists'],
    ['entities', 'project', entity(ALPHA), NO_PROJECT],
    ['entities', 'organization', entity(ALPHA), 'organization: must be an organization that exists'],
    ['projects', 'project', project('acme', ALPHA, { name: 'Back' }), `id: ${AGAIN}`],
    ['projects', 'user', project('acme', BETA, { created_by: ANN }), nobody('created_by')],
    ['projects', 'organization', office('acme', 'Rome'), 'organization: must be an organization that exists'],
  ] as const)('by %s, of a %s', async (service, kind, line, problem) => {
    const annsId = await userIdOf(world, 'acme', ANN);
    await locks.query('begin');
    await locks.query(`select pg_advisory_xact_lock(hashtextextended($1, 0))`, [`${service}.import:acme`]);
    const importing = world.tryLoad([line]);
    await waitingFor(`crs-${service}-import`);
    const begun = Promise.withResolvers<void>();
    const erasing = eraseOfAcme(world, kind, (step) => (step === 'entities' ? begun.resolve() : undefined));
    await begun.promise;
    await locks.query('commit');
    expect(await importing).toEqual({ accepted: 0, unchanged: 0, refused: [`1: ${problem}`] });
    expect(await erasing).toBe(true);
    await expectGone(kind, annsId);
  });
});

async function waitingFor(application: string): Promise<void> {
  const text = `select 1 from pg_stat_activity where datname = current_database() and application_name = $1 and wait_event_type = 'Lock'`;
  while ((await world.query(text, [application])).rows.length === 0) await sleep(5);
}

describe('during imports and creations', () => {
  it.each(KINDS)('a deleted %s leaves no row that refers to it', { timeout: 60_000 }, async (kind) => {
    for (let round = 0; round < 3; round++) {
      if (round > 0) ({ keys } = await fill(world));
      theirs = await everythingOf(world, 'globex');
      const later = async (work: () => Promise<unknown>) => {
        await sleep(Math.random() * 60);
        await work();
      };
      const calls = Array.from({ length: 20 }, (_, i) =>
        call({ id: `new-${i}`, project_id: ALPHA, conducted_by: ANN, notes: [{ email: ANN, text: 'x' }] }),
      );
      const create = (n: number) =>
        world.rest('/v1/projects', {
          key: keys['acme']!,
          method: 'POST',
          headers: { 'content-type': 'application/json', 'idempotency-key': `raced ${n}` },
          body: JSON.stringify({ name: 'Raced', lead_email: BOB }),
        });
      await Promise.all([
        later(() => eraseOfAcme(world, kind)),
        later(() => world.tryLoad([...calls.slice(0, 10), entity(ALPHA)])),
        later(() => world.tryLoad(calls.slice(10))),
        later(() =>
          world.tryLoad([project('acme', BETA, { created_by: ANN, members: [{ email: ANN }] }), office('acme', 'Rome')]),
        ),
        ...[1, 2, 3].map((n) => later(() => create(n))),
      ]);
      expect(await orphans(world)).toEqual([]);
      expect(await wrongDays(world)).toEqual([]);
      if (kind === 'project') expect(await tracesOf(world, 'acme', ALPHA)).toEqual([]);
      if (kind === 'organization')
        for (const [table, rows] of Object.entries(await everythingOf(world, 'acme'))) expect(rows, table).toEqual([]);
    }
  });
});
