import { startWorld, type OwnWorld } from '@crs/testing/world';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  eraseOf,
  everythingOf,
  fill,
  ONE,
  orphans,
  post,
  records,
  tablesOf,
  totalOf,
  tracesOf,
  userIdOf,
  wrongDays,
  type Filled,
} from './_deletions.ts';
import { ALPHA, ANN, BETA, BOB, grantOf, project } from './_records.ts';

let world: OwnWorld;
let globex: Filled;
let globexRows: Record<string, string[]>;
/** Each test has an organization of its own. */
let acme: Filled;

beforeAll(async () => {
  world = await startWorld();
  globex = await fill(world, 'globex');
  globexRows = await everythingOf(world, globex.id);
});
afterAll(() => world?.close());
beforeEach(async () => {
  acme = await fill(world);
});
afterEach(async () => {
  expect(await everythingOf(world, globex.id)).toEqual(globexRows);
  expect(await wrongDays(world)).toEqual([]);
  expect(await orphans(world)).toEqual([]);
});

const deletion = (type: string, id: string) => ({
  type,
  organization: acme.id,
  [type === 'user' ? 'email' : 'id']: id,
  deleted: true,
});
const counts = (accepted: number, unchanged: number) => ({ accepted, unchanged, refused: [] });
/** Deletes a record twice; the second time changes nothing. */
async function remove(type: string, id: string): Promise<void> {
  expect(await world.tryLoad([deletion(type, id)])).toEqual(counts(1, 0));
  expect(await world.tryLoad([deletion(type, id)])).toEqual(counts(0, 1));
}

it('the test organizations have rows in every table that belongs to an organization', async () => {
  const names = [
    'audit',
    'caller_keys',
    'clients',
    'oidc_payloads',
    'operators',
    'programs',
    'retired_keys',
    'throttles',
    'token_keys',
  ];
  // A legal hold would keep the organization from being deleted.
  const excepted = [...names.map((each) => `auth.${each}`), 'calls.holds', 'calls.held_calls'];
  for (const table of await tablesOf(world)) if (!excepted.includes(table)) expect(globexRows[table], table).not.toEqual([]);
});

describe('a deleted call', () => {
  it('disappears with its notes and transcripts, and only the feed of changes keeps its id', async () => {
    await remove('call', 'alpha-1');
    expect(await tracesOf(world, acme.id, 'alpha-1')).toEqual(['calls.changes']);
    expect((await world.rest('/v1/calls/alpha-1', { key: acme.key })).status).toBe(404);
    expect(await totalOf(world, acme.key)).toBe(4);
  });
});

describe('a deleted entity', () => {
  it('disappears, and only the feed of changes keeps its id', async () => {
    await remove('entity', ONE);
    expect(await tracesOf(world, acme.id, ONE)).toEqual(['entities.changes']);
    expect(await totalOf(world, acme.key)).toBe(5);
  });
});

describe('a deleted project', () => {
  it('disappears with its roles, entities and calls, and other projects stay', async () => {
    await remove('project', ALPHA.toUpperCase());
    expect(await tracesOf(world, acme.id, ALPHA)).toEqual(['projects.changes']);
    expect(await tracesOf(world, acme.id, 'alpha-')).toEqual(['calls.changes']);
    expect(await tracesOf(world, acme.id, ONE)).toEqual(['entities.changes']);
    expect((await world.rest(`/v1/projects/${ALPHA}`, { key: acme.key })).status).toBe(404);
    expect((await world.rest(`/v1/projects/${BETA}`, { key: acme.key })).status).toBe(200);
    expect(await totalOf(world, acme.key)).toBe(3);
  });

  it('that was created by REST frees its idempotency key for a new project', async () => {
    expect((await post(world, acme.key)).json.project_id).toBe(acme.created);
    await remove('project', acme.created);
    expect(await tracesOf(world, acme.id, acme.created)).toEqual(['projects.changes']);
    const { status, json, headers } = await post(world, acme.key);
    expect([status, headers.has('idempotent-replayed')]).toEqual([201, false]);
    expect(json.project_id).not.toBe(acme.created);
  });

  it('can be imported again, as a new project', async () => {
    await remove('project', ALPHA);
    expect(await world.tryLoad([project(acme.id, ALPHA)])).toEqual(counts(1, 0));
    expect(await grantOf(world, acme.id, ALPHA)).toEqual({ createdBy: null, roles: [] });
    expect(await totalOf(world, acme.key)).toBe(3);
  });
});

describe('a deleted user', () => {
  it('disappears with their roles and notes; their calls and projects stay, without a reference to the user', async () => {
    const id = await userIdOf(world, acme.id, ANN);
    await remove('user', ANN.toUpperCase());
    expect(await tracesOf(world, acme.id, id)).toEqual([]);
    expect(await tracesOf(world, acme.id, ANN)).toEqual([]);
    expect(await totalOf(world, acme.key)).toBe(5);
    const { rows } = await world.query(
      `select call_id as id from calls.calls where organization = $1 and conducted_by is null order by 1`,
      [acme.id],
    );
    expect(rows).toEqual([{ id: 'alone' }, { id: 'alpha-1' }, { id: 'beta-1' }]);
    expect(await grantOf(world, acme.id, ALPHA)).toEqual({ createdBy: null, roles: [`${BOB} member`] });
    expect(await grantOf(world, acme.id, BETA)).toEqual({ createdBy: BOB, roles: [`${BOB} lead`] });
    const { rows: notes } = await world.query('select count(*)::int as n from calls.notes where organization = $1', [acme.id]);
    expect(notes).toEqual([{ n: 5 }]);
  });

  it('is absent from a replayed response, which still shows the same project', async () => {
    await remove('user', ANN);
    const again = await post(world, acme.key);
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
    expect(again.json).toMatchObject({ project_id: acme.created, lead: null, members: [{ email: BOB }] });
    expect(again.json).toEqual((await world.rest(`/v1/projects/${acme.created}`, { key: acme.key })).json);
    await remove('user', BOB);
    expect((await post(world, acme.key)).json).toMatchObject({ project_id: acme.created, lead: null, members: [] });
  });

  it('makes import lines that name them fail, even unchanged ones, until the user is imported again', async () => {
    const calls = records(acme.id).filter((line) => 'type' in line && line.type === 'call');
    expect(await world.tryLoad(calls)).toEqual(counts(0, 5));
    await remove('user', ANN);
    const nobody = 'must be the e-mail of a user of this organization';
    const fields = ['conducted_by', 'notes[0].email', 'conducted_by', 'notes[0].email', 'conducted_by'];
    expect((await world.tryLoad(calls)).refused).toEqual(fields.map((field, i) => `${i + 1}: ${field}: ${nobody}`));
    await world.load([{ type: 'user', organization: acme.id, email: ANN }]);
    expect(await world.tryLoad(calls)).toEqual(counts(5, 0));
    const id = await userIdOf(world, acme.id, ANN);
    expect(await tracesOf(world, acme.id, id)).toEqual(['auth.users', 'calls.calls', 'calls.notes']);
  });

  it('can be imported again, as a new user', async () => {
    const id = await userIdOf(world, acme.id, ANN);
    await remove('user', ANN);
    await world.load([{ type: 'user', organization: acme.id, email: ANN }]);
    expect(await userIdOf(world, acme.id, ANN)).not.toBe(id);
    expect(await grantOf(world, acme.id, ALPHA)).toEqual({ createdBy: null, roles: [`${BOB} member`] });
  });
});

describe('a deleted organization', () => {
  it('disappears from every table except the audit trail', async () => {
    const keys = await world.query('select key_id as id from auth.api_keys where organization = $1', [acme.id]);
    expect(await eraseOf(world, acme.id, 'organization')).toBe(true);
    expect(await eraseOf(world, acme.id, 'organization')).toBe(false);
    for (const [table, rows] of Object.entries(await everythingOf(world, acme.id))) expect(rows, table).toEqual([]);
    for (const { id } of keys.rows) expect(await tracesOf(world, acme.id, id)).toEqual([]);
    const { rows } = await world.query(
      `select action from auth.audit where organization = $1 and action = 'organization.delete'`,
      [acme.id],
    );
    expect(rows.length).toBeGreaterThan(0);
  });

  it('has its keys refused within a second', async () => {
    const list = () => world.rest('/v1/billing-offices', { key: acme.key });
    expect((await list()).status).toBe(200);
    await eraseOf(world, acme.id, 'organization');
    const acknowledged = Date.now();
    let status = 200;
    for (let sent = acknowledged; status === 200; sent = Date.now()) {
      // Measured when the request is sent, because its response may be late.
      expect(sent - acknowledged).toBeLessThan(1_000);
      ({ status } = await list());
    }
    expect(status).toBe(401);
  });

  it('can be imported again, as a new organization that refuses the old key', async () => {
    await eraseOf(world, acme.id, 'organization');
    await world.load(records(acme.id));
    await expect.poll(async () => (await world.rest('/v1/billing-offices', { key: acme.key })).status).toBe(401);
    expect(await totalOf(world, await world.createKey(acme.id))).toBe(5);
  });
});

describe('a deletion', () => {
  it('that is malformed is refused with the field at fault, and deletes nothing', async () => {
    const before = await everythingOf(world, acme.id);
    const refusals: [line: object, problem: string][] = [
      [deletion('project', 'alpha'), 'id: must be a UUID'],
      [{ ...deletion('project', ALPHA), name: 'Alpha' }, 'name: is not a known property'],
      [deletion('user', 'ann'), 'email: must be an e-mail address of 3 to 254 characters'],
      [{ type: 'user', organization: acme.id, deleted: true }, 'email: is required'],
      [{ type: 'organization', id: acme.id, deleted: true }, 'deleted: is not possible by import; use "crs org delete"'],
    ];
    expect(await world.tryLoad(refusals.map(([line]) => line))).toEqual({
      accepted: 0,
      unchanged: 0,
      refused: refusals.map(([, problem], i) => `${i + 1}: ${problem}`),
    });
    expect(await everythingOf(world, acme.id)).toEqual(before);
  });

  it('of an unknown record, even in an unknown organization, counts as unchanged', async () => {
    const lines = [
      deletion('project', ONE),
      deletion('user', 'nobody@crs.example'),
      { ...deletion('project', ALPHA), organization: 'nobody' },
    ];
    expect(await world.tryLoad(lines)).toEqual(counts(0, 3));
  });
});
