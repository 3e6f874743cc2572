import { erase, type EraseTarget } from '@crs/testing/erase';
import { randomFrom } from '@crs/testing/random';
import { startWorld, type OwnWorld } from '@crs/testing/world';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { holdsOf } from './_holds.ts';
import { HoldModel, PROJECTS, USERS } from './_holds-model.ts';
import { callLine, tenantRecords, type CallLine } from './_records.ts';
import { runRetention, setRetention } from './_retention.ts';

const SEED = Number(process.env['CRS_TEST_SEED'] ?? 1);
const STEPS = 150;
/** Calls of this many days are kept. */
const DAYS = 100;
const AGES = [50, 150];

const ORGANIZATIONS = ['acme', 'globex'] as const;
type Id = (typeof ORGANIZATIONS)[number];
const models = new Map(ORGANIZATIONS.map((id) => [id, new HoldModel()]));
const random = randomFrom(SEED);
const pick = <T>(...choices: readonly T[]): T => choices[Math.floor(random() * choices.length)]!;

let world: OwnWorld;
let keys: Map<Id, string>;
beforeAll(async () => {
  world = await startWorld();
  keys = new Map();
  for (const id of ORGANIZATIONS) {
    await fill(id);
    keys.set(id, await world.createKey(id, { rights: ['read', 'ingest', 'delete'] }));
  }
});
afterAll(() => world?.close());

/** Restores what deletions took, so that there is always something to delete. */
async function fill(id: Id): Promise<void> {
  await world.load([
    ...tenantRecords(id, { delete_limit: 1_000_000 }),
    ...USERS.map((email) => ({ type: 'user', organization: id, email })),
    ...PROJECTS.map((projectId) => ({ type: 'project', organization: id, id: projectId })),
  ]);
  await setRetention(world, id, { retainCalls: `${DAYS}d` });
}

const randomId = () => `call-${pick(1, 2, 3, 4, 5, 6, 7, 8)}`;

function randomCall(id: Id): CallLine {
  return callLine(id, randomId(), {
    project_id: pick(null, ...PROJECTS),
    conducted_by: pick(null, ...USERS),
    notes: pick<string[]>([], [USERS[0]], [...USERS]).map((email) => ({ email, text: 'x' })),
    created_at: new Date(Date.now() - pick(...AGES) * 86_400_000).toISOString(),
    summary: pick('a', 'b'),
  });
}

/** Sends a deletion or a change in one of the ways that reach a single call. @returns whether it was refused because of a hold */
async function sendOne(id: Id, callId: string, change: { deleted: true } | { project_id: string | null }): Promise<boolean> {
  const deletes = 'deleted' in change;
  const line = { ...callLine(id, callId, change), ...(!deletes && { merge: true }) };
  if (pick(true, false)) {
    const { refused } = await world.tryLoad([line]);
    return refused.some((reason) => reason.includes('legal hold'));
  }
  const { status } = await world.rest(`/v1/calls/${callId}`, {
    method: deletes ? 'DELETE' : 'PATCH',
    key: keys.get(id)!,
    ...(!deletes && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(change) }),
  });
  return status === 409;
}

async function eraseTarget(id: Id, target: EraseTarget): Promise<boolean> {
  const outcome = await erase(world.operator, id, target).catch((error: { reason?: string }) => error);
  if (typeof outcome === 'boolean') return false;
  expect(outcome.reason).toBe('LEGAL_HOLD');
  return true;
}

/** One random step at the system and at the model. Both must refuse the same. */
const STEPS_OF: Record<string, (id: Id, model: HoldModel) => Promise<void>> = {
  async write(id, model) {
    const line = randomCall(id);
    const isHeld = model.refusesWrite(line);
    const { refused } = await world.tryLoad([line]);
    expect(refused.some((reason) => reason.includes('legal hold'))).toBe(isHeld);
    if (!isHeld) model.write(line);
  },
  async move(id, model) {
    const [callId, projectId] = [randomId(), pick(null, ...PROJECTS)];
    if (!model.calls.has(callId)) return;
    const isHeld = model.refusesMove(callId, projectId);
    expect(await sendOne(id, callId, { project_id: projectId })).toBe(isHeld);
    if (!isHeld) model.move(callId, projectId);
  },
  async remove(id, model) {
    const callId = randomId();
    expect(await sendOne(id, callId, { deleted: true })).toBe(model.holds(callId));
    if (!model.holds(callId)) model.calls.delete(callId);
  },
  async hold(id, model) {
    const some = [...model.calls.keys()].filter(() => random() < 0.3);
    const kept = pick(true, false) || some.length === 0 ? { projectId: pick(...PROJECTS) } : { callIds: some };
    model.create(await holdsOf(world, id).create(kept), kept);
  },
  async release(id, model) {
    if (model.inForce.size === 0) return;
    const holdId = pick(...model.inForce.keys());
    await holdsOf(world, id).release(holdId);
    model.inForce.delete(holdId);
  },
  async eraseProject(id, model) {
    const projectId = pick(...PROJECTS);
    const isHeld = model.refusesProject(projectId);
    expect(await eraseTarget(id, { $case: 'projectId', value: projectId })).toBe(isHeld);
    if (!isHeld) model.eraseProject(projectId);
    await fill(id);
  },
  async eraseUser(id, model) {
    const email = pick(...USERS);
    const isHeld = model.refusesUser(email);
    expect(await eraseTarget(id, { $case: 'email', value: email })).toBe(isHeld);
    if (!isHeld) model.eraseUser(email);
    await fill(id);
  },
  async eraseOrganization(id, model) {
    if (random() < 0.7) return;
    const isHeld = model.inForce.size > 0;
    expect(await eraseTarget(id, { $case: 'organization', value: true })).toBe(isHeld);
    if (isHeld) return;
    model.calls.clear();
    await fill(id);
    keys.set(id, await world.createKey(id, { rights: ['read', 'ingest', 'delete'] }));
    model.counted = false;
  },
  async retain(id, model) {
    const due = model.due(DAYS);
    expect(await runRetention(world, id)).toEqual({ due: due.length, deleted: model.counted ? due.length : 0 });
    if (model.counted) for (const callId of due) model.calls.delete(callId);
    model.counted = true;
  },
};

async function compare(): Promise<void> {
  for (const [id, model] of models) {
    const { rows } = await world.query(
      `select call_id as id, project_id, (
          select email from auth.users u where u.organization = c.organization and u.user_id = c.conducted_by) as conductor
        from calls.calls c where organization = $1 order by 1`,
      [id],
    );
    expect(rows).toEqual(model.rows());
  }
}

it(`whatever is sent, what is held stays, and all else that is deleted or due disappears: ${STEPS} random steps (CRS_TEST_SEED=${SEED})`, async () => {
  const names = Object.keys(STEPS_OF);
  const weighted = [...names, 'write', 'write', 'write', 'hold', 'release', 'remove', 'retain'];
  for (let step = 0; step < STEPS; step++) {
    const id = pick(...ORGANIZATIONS);
    await STEPS_OF[pick(...weighted)]!(id, models.get(id)!);
    await compare();
  }
  // Once everything is released, each way deletes what it deletes.
  for (const [id, model] of models) {
    while (model.inForce.size > 0) await STEPS_OF['release']!(id, model);
    await STEPS_OF['retain']!(id, model);
    await STEPS_OF['retain']!(id, model);
    expect(model.due(DAYS)).toEqual([]);
    expect(await eraseTarget(id, { $case: 'organization', value: true })).toBe(false);
    model.calls.clear();
  }
  await compare();
});
