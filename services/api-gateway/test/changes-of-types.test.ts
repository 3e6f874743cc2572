import { beforeAll, describe, expect, it } from 'vitest';
import { ALL, recordsOfTypes, uuid, type RecordsOfTypes } from './_types.ts';

let system: RecordsOfTypes;
beforeAll(async () => {
  system = await recordsOfTypes();
});

/** Creates two projects, two entities and two calls. */
async function filledTenant(settings: object = {}): Promise<string> {
  const organization = await system.createTenant(settings);
  for (const n of [1, 2]) await system.project(organization, n);
  for (const n of [1, 2]) await system.entity(organization, n, { description: 'Hidden?' });
  for (const id of ['a', 'b']) await system.call(organization, id);
  return organization;
}

const FIRST_PASS = [
  ...['project.changed 1', 'project.changed 2', 'entity.changed 1', 'entity.changed 2'],
  ...['call.changed a', 'call.changed b'],
];

describe('GET /v1/changes?types=', () => {
  it.each([1, 2, 3, 1000])('lists every record of each type, then its changes, with %i changes a page', async (limit) => {
    const [organization, twin] = [await filledTenant(), await filledTenant()];
    const query = { types: ALL, limit };
    const first = await system.follow(organization, query);
    expect(first.summaries).toEqual(FIRST_PASS);

    await system.remove(organization, 'entity', uuid(2));
    await system.project(organization, 2, { name: 'Other' });
    await system.call(organization, 'a', { summary: 'Other' });
    await system.call(organization, 'c');
    const second = await system.follow(organization, { ...query, cursor: first.cursor });
    expect(second.summaries).toEqual(['project.changed 2', 'entity.deleted 2', 'call.changed a', 'call.changed c']);
    expect((await system.follow(organization, { ...query, cursor: second.cursor })).summaries).toEqual([]);
    // The other organization has records with the same ids.
    expect((await system.follow(twin, query)).summaries).toEqual(FIRST_PASS);
  });

  it('lists a single type, and calls alone by default', async () => {
    const organization = await filledTenant();
    for (const [query, type] of [
      [{}, 'call'],
      [{ types: 'call' }, 'call'],
      [{ types: 'project' }, 'project'],
      [{ types: 'entity' }, 'entity'],
    ] as const)
      expect((await system.follow(organization, query)).summaries).toEqual(FIRST_PASS.filter((each) => each.startsWith(type)));
  });

  it('with expand=detail has records as the lists do, byte for byte', async () => {
    const organization = await filledTenant();
    const { text } = await system.changes(organization, { types: ALL, expand: 'detail' });
    for (const path of ['/projects', '/entities']) {
      const { text: list } = await system.get(organization, path);
      const items = list.slice('{"data":['.length, list.indexOf('],"next_cursor"')).split(/(?<=\}),(?=\{)/);
      expect(items).toHaveLength(2);
      const name = path === '/projects' ? 'project' : 'entity';
      for (const item of items) expect(text).toContain(`"${name}":${item}}`);
    }
    expect(text).toContain(`"call":${(await system.get(organization, '/calls/a')).text}}`);
  });

  it('lists what is deleted with a project, and lists a project that was created by REST', async () => {
    const organization = await filledTenant();
    await system.call(organization, 'b', { project_id: uuid(1) });
    const { cursor } = await system.follow(organization, { types: ALL });
    await system.remove(organization, 'project', uuid(1));
    const { json } = await system.world.rest('/v1/projects', {
      key: system.keys.get(organization),
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'New', lead_email: 'ann@acme.example' }),
    });
    const { seen, summaries } = await system.follow(organization, { types: ALL, cursor });
    expect(summaries.toSorted()).toEqual(
      [
        'call.deleted b',
        'entity.deleted 1',
        'entity.deleted 2',
        'project.deleted 1',
        `project.changed ${json.project_id}`,
      ].toSorted(),
    );
    expect(seen.find(({ type }) => type === 'project.changed')!.changed_at).toBe(json.created_at);
  });

  it('does not list a record if nothing that the lists show has changed', async () => {
    const organization = await filledTenant();
    const { cursor } = await system.follow(organization, { types: ALL });
    await system.project(organization, 1);
    await system.project(organization, 1, { members: [{ email: 'ann@acme.example', role: 'lead' }] });
    await system.entity(organization, 1, { description: 'Hidden?' });
    await system.remove(organization, 'entity', uuid(9));
    expect((await system.follow(organization, { types: ALL, cursor })).summaries).toEqual([]);
  });

  it('counts as one request against the rate limit', async () => {
    const organization = await filledTenant();
    const left = async () => Number((await system.changes(organization, { types: ALL })).headers.get('x-ratelimit-remaining'));
    expect((await left()) - (await left())).toBe(1);
  });

  it('ends a page of details at 8 MiB of all types together', async () => {
    const organization = await system.createTenant();
    await system.project(organization, 1, { summary: 'x'.repeat(3 * 1024 * 1024) });
    for (const n of [1, 2]) await system.entity(organization, n, { overview: 'x'.repeat(3 * 1024 * 1024) });
    await system.call(organization, 'a', { summary: 'x'.repeat(3 * 1024 * 1024) });
    const sizes: number[] = [];
    for (let cursor: string | undefined; ;) {
      const { json } = await system.changes(organization, { types: ALL, expand: 'detail', ...(cursor && { cursor }) });
      sizes.push(json.data.length);
      cursor = json.next_cursor;
      if (!json.has_more) break;
    }
    expect(sizes).toEqual([2, 2]);
  });
});

describe('the parameter types', () => {
  const messageOf = async (organization: string, query: Record<string, string>) => {
    const { status, json } = await system.changes(organization, query);
    return `${status} ${json.error?.message}`;
  };

  it.each(['calls', 'call,', 'call,call', 'call project', 'CALL'])('is refused if it is %j', async (types) => {
    const organization = await system.createTenant();
    expect(await messageOf(organization, { types })).toBe(
      '400 types: must be one or more of project, entity, call, each once, separated by commas',
    );
  });

  it('has project only for organizations with the write surface', async () => {
    const organization = await filledTenant({ write_surface: false });
    expect(await messageOf(organization, { types: ALL })).toMatch(/^404 .*not enabled for the write surface/);
    expect((await system.follow(organization, { types: 'entity,call' })).summaries).toEqual(FIRST_PASS.slice(2));
  });

  it('is bound to the cursor, whatever the order of the types', async () => {
    const [organization, twin] = [await filledTenant(), await filledTenant()];
    const cursors = new Map<string, string>();
    const choices = ['call', 'project', 'call,project', 'call,entity', ALL];
    for (const types of choices) cursors.set(types, (await system.follow(organization, { types })).cursor);
    for (const types of choices) {
      for (const [boundTo, cursor] of cursors) {
        const outcome = await messageOf(organization, { types, cursor });
        if (types === boundTo) expect(outcome).toMatch(/^200/);
        else expect(outcome).toMatch(/^400 cursor: can't be used: .* Begin again without it/);
      }
      const [cursor] = [cursors.get(types)!];
      expect(await messageOf(twin, { types, cursor })).toMatch(/^400 cursor: can't be used/);
      expect(await messageOf(organization, { types, cursor: `${cursor}A` })).toMatch(/^400 cursor: can't be used/);
    }
    expect(await messageOf(organization, { types: 'entity,project,call', cursor: cursors.get(ALL)! })).toMatch(/^200/);
    const [first] = cursors.get('call,project')!.split('.');
    expect(await messageOf(organization, { types: 'project', cursor: first! })).toMatch(/^400 cursor: can't be used/);
  });
});
