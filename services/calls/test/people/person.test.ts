import { exportLines } from '@crs/testing/export';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sendBatch, tenantRecords } from '../_records.ts';
import { crs, EMAIL, EMPLOYER, linesOf, MENTIONED, NAME, NAMED, stored, traces } from './_people.ts';

const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];
const named = Object.keys(NAMED).map((_, i) => `named-${String(i).padStart(2, '0')}`);
const mentioned = Object.keys(MENTIONED).map((_, i) => `text-${i}`);

let world: World;
beforeAll(async () => {
  world = await sharedWorld();
  await world.load([...tenantRecords(ACME), ...tenantRecords(GLOBEX)]);
  await sendBatch(world, GLOBEX, linesOf(GLOBEX));
});
beforeEach(() => sendBatch(world, ACME, linesOf(ACME)));

interface FoundCall {
  call_id: string;
  fields: string[];
  mentions: string[];
}

const find = async (...person: string[]) => (await crs(world, 'person', 'find', '--org', ACME, ...person)).json;
const erase = async (...args: string[]) => (await crs(world, 'person', 'erase', '--org', ACME, ...args)).json;

describe('crs person find', () => {
  it('lists the calls of one organization by path, without their texts', async () => {
    const found = await find('--name', NAME.toLowerCase());
    const paths = new Map<string, FoundCall>(found.data.map((each: FoundCall) => [each.call_id, each]));
    expect([...paths.keys()]).toEqual([...named, ...mentioned]);
    for (const [i, path] of Object.keys(NAMED).entries()) expect(paths.get(named[i]!)!.fields, path).toContain(path);
    for (const [i, path] of Object.keys(MENTIONED).entries())
      expect(paths.get(mentioned[i]!)).toEqual({ call_id: mentioned[i], fields: [], mentions: [path] });
    expect(found.is_user).toBe(false);
    expect(JSON.stringify(found)).not.toMatch(/canary/i);
  });

  it('lists the calls in which a participant has the e-mail', async () => {
    const { data } = await find('--email', EMAIL.toUpperCase());
    const fields = ['participants[].name', 'participants[].email'];
    expect(data).toEqual([{ call_id: named[5], fields, mentions: [] }]);
  });

  it('leaves out the calls of a namesake with another employer', async () => {
    const experts = named.slice(0, 4);
    const { data } = await find('--name', NAME, '--employer', 'Initech');
    expect(data.map((each: FoundCall) => each.call_id)).toEqual([...named, ...mentioned].filter((id) => !experts.includes(id)));
  });

  it('tells whether a user has the e-mail or the name', async () => {
    expect(await find('--email', 'ANN@crs.example')).toEqual({ data: [], is_user: true });
    expect((await find('--name', 'Ann')).is_user).toBe(true);
    expect((await find('--name', 'nobody')).is_user).toBe(false);
  });

  it('is audited, without the person', async () => {
    await find('--name', NAME);
    await erase('--email', EMAIL, '--yes');
    const actions = async () => {
      const { json } = await crs(world, 'audit', '--org', ACME, '--limit', '1000');
      return json.data.map(({ action }: { action: string }) => action);
    };
    await expect.poll(actions).toEqual(expect.arrayContaining(['person.find', 'person.erase']));
    const { rows } = await world.query('select to_jsonb(a)::text as row from auth.audit a where organization = $1', [ACME]);
    expect(JSON.stringify(rows)).not.toMatch(/canary/i);
    expect(world.log.join('\n')).not.toMatch(/canary/i);
  });
});

describe('crs person erase', () => {
  it('with --plan changes nothing, and counts what --yes changes', async () => {
    const before = await stored(world, ACME);
    const plan = await erase('--name', NAME, '--plan');
    expect(plan).toMatchObject({ erasure_id: null, changed: named.length, deleted: 0, held: 0 });
    expect(plan.data.map((each: FoundCall) => each.call_id)).toEqual(named);
    expect(await erase('--name', NAME, '--plan', '--calls')).toMatchObject({
      changed: 0,
      deleted: named.length + mentioned.length,
    });
    expect(await stored(world, ACME)).toEqual(before);
  });

  it('without --plan and --yes is a usage error for programs', async () => {
    expect(await crs(world, 'person', 'erase', '--org', ACME, '--name', NAME)).toMatchObject({ status: 2, json: undefined });
    expect(await crs(world, 'person', 'erase', '--org', ACME, '--yes')).toMatchObject({ status: 2, json: undefined });
  });

  it('empties each named field, leaves running text, and tells followers', async () => {
    const key = await world.createKey(ACME);
    const follow = async (cursor?: string) =>
      (await world.rest(`/v1/changes?limit=50&expand=detail${cursor === undefined ? '' : `&cursor=${cursor}`}`, { key })).json;
    const { next_cursor: cursor } = await follow();
    const others = await stored(world, GLOBEX);
    const [untouched] = [(await stored(world, ACME)).get('without')];

    const result = await erase('--name', NAME, '--yes');
    expect(result).toEqual({ erasure_id: expect.stringMatching(/^[0-9a-f-]{36}$/), changed: named.length, deleted: 0, held: 0 });
    expect(await traces(world, ACME)).toEqual(mentioned);
    const { data } = await follow(cursor);
    expect(data.map((each: { call_id: string }) => each.call_id).toSorted()).toEqual(named);
    expect(JSON.stringify(data)).not.toMatch(/canary/i);
    const exported = (await exportLines(world.operator, ACME)) as { id: string }[];
    expect(exported.filter((line) => /canary/i.test(JSON.stringify(line))).map(({ id }) => id)).toEqual(mentioned);
    expect((await stored(world, ACME)).get('without')).toBe(untouched);
    expect(await stored(world, GLOBEX)).toEqual(others);

    const { data: left } = await find('--name', NAME);
    expect(left.map((each: FoundCall) => each.call_id)).toEqual(mentioned);
    expect(await erase('--name', NAME, '--yes')).toMatchObject({ changed: 0, deleted: 0 });
  });

  it('with --calls deletes each call that has or mentions the person', async () => {
    expect(await erase('--name', NAME, '--calls', '--yes')).toMatchObject({
      changed: 0,
      deleted: named.length + mentioned.length,
    });
    expect(await traces(world, ACME)).toEqual([]);
    const { rows } = await world.query('select day::text, calls from calls.call_days where organization = $1', [ACME]);
    expect(rows).toEqual([{ day: '2025-03-01', calls: 1 }]);
    expect((await traces(world, GLOBEX)).length).toBe(named.length + mentioned.length);
  });

  it('is undone by an import that has the person', async () => {
    await erase('--name', NAME, '--yes');
    expect(await sendBatch(world, ACME, linesOf(ACME))).toMatchObject({ accepted: named.length });
    expect((await traces(world, ACME)).length).toBe(named.length + mentioned.length);
  });

  it('keeps project, conductor, notes, times of creation and everything else of a changed call', async () => {
    const fields = { ...NAMED['expert.bio'], ...MENTIONED['notes[].text'], rating: 4, segment: 'Customers', ktas: '- one' };
    const [line] = linesOf(ACME);
    const { expert: _, ...rest } = { ...line!, ...fields };
    await sendBatch(world, ACME, [{ ...line, ...fields }]);
    await erase('--name', NAME, '--employer', EMPLOYER, '--yes');
    const exported = (await exportLines(world.operator, ACME)) as { id: string; notes: object[] }[];
    expect(exported.find(({ id }) => id === line!.id)).toEqual({
      ...rest,
      call_type: 'interview',
      created_at: '2025-03-01T10:00:00.000Z',
    });
  });
});
