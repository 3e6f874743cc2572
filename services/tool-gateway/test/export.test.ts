import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MAX_ITEMS, MAX_LINE_BYTES } from '@crs/records/import-record';
import { exportLines } from '@crs/testing/export';
import { toolClient } from '@crs/testing/mcp';
import { sharedWorld, startWorld, tenant, type OwnWorld, type World } from '@crs/testing/world';
import { ENTITY_IDS, PROJECTS, USERS } from './_oracle.ts';
import { wholeRecords, wholeTenant } from './_whole-tenant.ts';

/** The number of random organizations. Set `CRS_WORLDS=100 CRS_TEST_SEED=2` to test more and others. */
const WORLDS = Number(process.env['CRS_WORLDS'] ?? 2);
const SEED = Number(process.env['CRS_TEST_SEED'] ?? 1);

let here: World;
/** Another installation. */
let there: OwnWorld;
beforeAll(async () => {
  [here, there] = await Promise.all([sharedWorld(), startWorld()]);
});
afterAll(() => there?.close());

/** Everything that REST and the tools return for an organization, with modification times and generated names masked. */
async function snapshotOf(world: World, organization: string): Promise<unknown> {
  const key = await world.createKey(organization);
  const get = async (path: string) => {
    const { status, json } = await world.rest(path, { key });
    expect(status, path).toBe(200);
    return json;
  };
  const list = await get('/v1/calls?start_date=2000-01-01T00:00:00Z&end_date=2100-01-01T00:00:00Z&per_page=200');
  const calls = [];
  for (const { call_id: id } of list.data) calls.push(await get(`/v1/calls/${id}`));
  const offices = await get('/v1/billing-offices');
  const people = [];
  const projects = new Map<string, unknown>();
  for (const email of USERS) {
    const { accessToken } = await world.operator.auth.createToken(
      { email, scopes: [], expiresInSeconds: 0 },
      await world.operator.operator(organization),
    );
    const tools = toolClient(world.stack.addresses.tools, accessToken);
    const use = async (name: string, args: object) => {
      const { value, error } = await tools(name, args);
      expect(error, name).toBeUndefined();
      return value;
    };
    const seen = await use('list_projects', { scope: 'all', include_archived: true, limit: 100 });
    const entities = [];
    for (const { id } of seen.projects) {
      entities.push(await use('list_entities', { project_id: id, limit: 100 }));
      projects.set(id, await get(`/v1/projects/${id}`));
    }
    const visible = await use('list_calls', { scope: 'all', limit: 100 });
    const details = [];
    const all = { include_ktas: true, include_notes: true, include_qa: true, include_summary: true, include_transcript: true };
    for (const { id } of visible.calls) details.push(await use('get_call', { call_id: id, ...all }));
    people.push({ seen, entities, visible, details });
  }
  const text = JSON.stringify({ list, calls, offices, people, projects: [...projects].toSorted(([a], [b]) => (a < b ? -1 : 1)) });
  return JSON.parse(text.replaceAll(/"updated_at":"[^"]*"/g, '"updated_at":"*"').replaceAll(/Expert [A-Z2-7]{8}/g, 'Expert *'));
}

describe('an organization that is exported and imported into another installation', () => {
  it('looks the same over REST and the tools, and its next export is identical', async () => {
    await fc.assert(
      fc.asyncProperty(wholeTenant, async (records) => {
        const organization = tenant('world');
        await here.load(wholeRecords(organization, records));
        const lines = await exportLines(here.operator, organization);
        expect(await there.tryLoad(lines)).toEqual({ accepted: lines.length, unchanged: 0, refused: [] });
        expect(await there.tryLoad(lines)).toEqual({ accepted: 0, unchanged: lines.length, refused: [] });
        expect(await here.tryLoad(lines)).toEqual({ accepted: 0, unchanged: lines.length, refused: [] });
        const [original, copy] = await Promise.all([here, there].map((world) => snapshotOf(world, organization)));
        expect(copy).toEqual(original);
        expect(await exportLines(there.operator, organization)).toEqual(lines);
      }),
      { numRuns: WORLDS, seed: SEED, endOnFailure: true },
    );
    // Each organization takes about a hundred requests to each installation.
  }, 120_000);
});

describe('an export', () => {
  const organization = tenant('pages');
  const page = async (type: string, after = '') => {
    const request = { type, after };
    const { lines, next } = await here.operator.exporters.calls.exportRecords(
      request,
      await here.operator.operator(organization),
    );
    return { ids: lines.map((line) => (JSON.parse(Buffer.from(line).toString()) as { id: string }).id), next };
  };
  const call = (id: string, transcript = 'x') => ({ type: 'call', organization, id, transcript });

  it('is returned in pages of at most 1,000 lines and 8 MiB', async () => {
    const small = Array.from({ length: 1_001 }, (_, i) => `a${String(i).padStart(4, '0')}`);
    const large = ['b1', 'b2', 'b3', 'b4'];
    const text = 'x'.repeat(3 * 1024 * 1024);
    await here.load([
      { type: 'organization', id: organization },
      ...small.map((id) => call(id)),
      ...large.map((id) => call(id, text)),
    ]);
    expect(await page('call')).toEqual({ ids: small.slice(0, 1_000), next: 'a0999' });
    expect(await page('call', 'a0999')).toEqual({ ids: ['a1000', 'b1', 'b2'], next: 'b2' });
    expect(await page('call', 'b2')).toEqual({ ids: ['b3', 'b4'], next: '' });
    expect(await page('call', 'b4')).toEqual({ ids: [], next: '' });
  });

  it('from a service is limited to the record types that it owns', async () => {
    const failure = await page('user').catch((error: Error) => error);
    expect(failure).toMatchObject({ kind: 'invalid_argument', message: 'type: must be call' });
  });

  it('marks disabled users, and importing it disables them', async () => {
    const organization = tenant('former');
    const [ann, bob] = USERS as [string, string];
    await here.load([
      { type: 'organization', id: organization },
      { type: 'user', organization, email: ann, disabled: true },
      { type: 'user', organization, email: bob },
    ]);
    const lines = await exportLines(here.operator, organization);
    expect(lines.slice(1)).toEqual([
      { type: 'user', organization, email: ann, disabled: true },
      { type: 'user', organization, email: bob },
    ]);
    await there.load(lines);
    const { users } = await there.operator.auth.listUsers({}, await there.operator.operator(organization));
    expect(users.map(({ email, disabled }) => [email, disabled])).toEqual([
      [ann, true],
      [bob, false],
    ]);
  });

  it('leaves out generated ids of Q&A blocks if they would make the line of a call longer than 8 MiB', async () => {
    const organization = tenant('edge');
    await here.load([{ type: 'organization', id: organization }]);
    const record = {
      type: 'call',
      organization,
      id: 'call_1',
      created_at: '2026-01-01T00:00:00.000Z',
      qa_blocks: Array.from({ length: MAX_ITEMS }, (_, i) => ({ question: String(i) })),
      summary: '',
    };
    const length = (line: object) => Buffer.byteLength(JSON.stringify(line));
    const longest = { ...record, summary: 'x'.repeat(MAX_LINE_BYTES - length(record)) };
    expect(length(longest)).toBe(MAX_LINE_BYTES);
    await here.load([longest]);
    const [, exported] = await exportLines(here.operator, organization);
    expect(length(exported!)).toBe(MAX_LINE_BYTES);
    expect(await here.tryLoad([exported!])).toEqual({ accepted: 0, unchanged: 1, refused: [] });
    // A shorter record is exported with the ids.
    await here.load([record]);
    const [, short] = await exportLines(here.operator, organization);
    expect((short as { qa_blocks: object[] }).qa_blocks.at(-1)).toEqual({ id: expect.any(String) as string, question: '999' });
  });

  it('leaves out a user and a project whose deletion has begun, and the calls and entities of that project', async () => {
    const [kept, going] = PROJECTS as [string, string];
    const [ann, bob] = USERS as [string, string];
    const organization = tenant('leaving');
    await here.load([
      { type: 'organization', id: organization },
      ...[ann, bob].map((email) => ({ type: 'user', organization, email })),
      ...[kept, going].map((id) => ({ type: 'project', organization, id, created_by: ann, members: [{ email: bob }] })),
      ...[kept, going].map((id, i) => ({
        type: 'call',
        organization,
        id: `call_${i}`,
        project_id: id,
        conducted_by: ann,
        notes: [{ email: ann, text: 'x' }],
      })),
      ...[kept, going].map((id, i) => ({ type: 'entity', organization, id: ENTITY_IDS[i], project_id: id })),
    ]);
    for (const target of [
      { $case: 'email', value: ann },
      { $case: 'projectId', value: going },
    ] as const) {
      await here.operator.calls.beginErasure({ target: { target }, check: false }, await here.operator.operator(organization));
    }
    const lines = await exportLines(here.operator, organization);
    expect(lines).toMatchObject([
      { type: 'organization' },
      { type: 'user', email: bob },
      { type: 'project', id: kept, members: [{ email: bob, role: 'member' }] },
      { type: 'call', id: 'call_0' },
      { type: 'entity', id: ENTITY_IDS[0] },
    ]);
    const text = JSON.stringify(lines);
    expect(text).not.toContain(ann);
    expect(text).not.toContain(going);
  });
});
