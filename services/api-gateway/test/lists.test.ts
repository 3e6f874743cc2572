import { beforeAll, describe, expect, it } from 'vitest';
import { recordsOfTypes, timeOf, uuid, type RecordsOfTypes } from './_types.ts';

let system: RecordsOfTypes;
let acme: string;
let globex: string;
beforeAll(async () => {
  system = await recordsOfTypes();
  [acme, globex] = [await system.createTenant(), await system.createTenant()];
  for (const organization of [acme, globex]) {
    for (const n of [1, 3, 2]) await system.project(organization, n, { summary: organization });
    // Of two records with the same time, the one with the higher id comes first.
    await system.project(organization, 4, { created_at: timeOf(2), is_archived: true, billing_office_name: 'London' });
    for (const n of [1, 3, 2]) await system.entity(organization, n, { description: organization });
    await system.entity(organization, 4, { created_at: timeOf(2) });
  }
});

const ORDER = [3, 4, 2, 1].map(uuid);

describe.each([
  ['/projects', 'project_id'],
  ['/entities', 'entity_id'],
])('GET /v1%s', (path, id) => {
  const type = path === '/projects' ? 'project' : 'entity';
  const add = (organization: string, n: number, more: object = {}) => system[type](organization, n, more);
  const idsOf = (json: { data: Record<string, unknown>[] }) => json.data.map((item) => item[id]);

  it.each([1, 2, 3, 4, 1000])('lists the records of one organization, newest first, with %i on a page', async (limit) => {
    for (const organization of [acme, globex]) {
      const ids: unknown[] = [];
      let pages = 0;
      for (let cursor: string | null | undefined; cursor !== null; pages++) {
        const { status, json, text } = await system.get(organization, path, { limit, ...(cursor !== undefined && { cursor }) });
        expect(status, text).toBe(200);
        expect(Object.keys(json)).toEqual(['data', 'next_cursor']);
        expect(text).not.toContain(organization === acme ? globex : acme);
        ids.push(...idsOf(json));
        cursor = json.next_cursor;
      }
      expect(ids).toEqual(ORDER);
      expect(pages).toBe(Math.ceil(4 / limit));
    }
  });

  it('repeats and skips nothing although records are created and deleted between pages', async () => {
    const organization = await system.createTenant();
    await system.project(organization, 1);
    for (const n of [1, 2, 3, 4]) await add(organization, n);
    const first = await system.get(organization, path, { limit: 2 });
    await add(organization, 9);
    await system.remove(organization, type, uuid(2));
    const second = await system.get(organization, path, { limit: 2, cursor: first.json.next_cursor });
    expect([...idsOf(first.json), ...idsOf(second.json)]).toEqual([4, 3, 1].map(uuid));
    expect(second.json.next_cursor).toBeNull();
  });

  it('has an empty page for an organization without records', async () => {
    const organization = await system.createTenant();
    const { text } = await system.get(organization, path);
    expect(text).toBe('{"data":[],"next_cursor":null}');
  });

  it('returns the same bytes and ETag for the same page, and 304 for its ETag', async () => {
    const address = `/v1${path}?limit=2`;
    const key = system.keys.get(acme);
    const [one, two] = [await system.world.rest(address, { key }), await system.world.rest(address, { key })];
    expect(one.text).toBe(two.text);
    const tag = one.headers.get('etag')!;
    expect((await system.world.rest(address, { key, headers: { 'if-none-match': tag } })).status).toBe(304);
  });

  it('refuses an invalid parameter, and names it', async () => {
    const messageOf = async (query: Record<string, string>) => (await system.get(acme, path, query)).json.error?.message;
    for (const limit of ['0', '1001', '01', 'x', '-1'])
      expect(await messageOf({ limit })).toBe('limit: must be a whole number from 1 to 1000, in digits');
    expect(await messageOf({ page: '1' })).toBe("page: isn't a parameter here. Allowed: cursor, limit");
    expect(await messageOf({ cursor: 'x'.repeat(1_001) })).toMatch(/^cursor: must be/);
  });

  it('refuses the cursor of another organization, of another list, of the feed, and one that was changed', async () => {
    const cursorOf = async (organization: string, from: string) =>
      (await system.get(organization, from, { limit: 1 })).json.next_cursor as string;
    const own = await cursorOf(acme, path);
    const foreign = [
      await cursorOf(globex, path),
      await cursorOf(acme, path === '/projects' ? '/entities' : '/projects'),
      await cursorOf(acme, '/changes'),
      (await system.get(acme, '/changes', { types: type })).json.next_cursor as string,
      ...[
        own.slice(1),
        own.slice(0, -1),
        `${own}A`,
        own.replace(/.$/, '!'),
        own.replace(/^./, (first) => (first === 'A' ? 'B' : 'A')),
        'x',
      ],
    ];
    for (const cursor of foreign) {
      const { status, json } = await system.get(acme, path, { cursor });
      expect([status, json.error?.message]).toEqual([
        400,
        expect.stringMatching(/^cursor: can't be used: .* Begin again without it/),
      ]);
    }
    // Any key of the organization may use it.
    const key = await system.world.createKey(acme, { rights: ['read'] });
    expect((await system.world.rest(`/v1${path}?cursor=${own}`, { key })).status).toBe(200);
  });

  it('ends a page at 8 MiB, and still lists every record', async () => {
    const organization = await system.createTenant();
    await system.project(organization, 1);
    const text = 'x'.repeat(3 * 1024 * 1024);
    for (const n of [2, 3, 4]) await add(organization, n, type === 'project' ? { summary: text } : { overview: text });
    const first = await system.get(organization, path);
    expect(idsOf(first.json)).toEqual([4, 3].map(uuid));
    const second = await system.get(organization, path, { cursor: first.json.next_cursor });
    expect(idsOf(second.json)).toEqual((type === 'project' ? [2, 1] : [2]).map(uuid));
  });

  it('is charged as one request', async () => {
    const left = async () => Number((await system.get(acme, path)).headers.get('x-ratelimit-remaining'));
    expect((await left()) - (await left())).toBe(1);
  });
});

describe('GET /v1/projects', () => {
  it('shows a project without its people', async () => {
    const { json } = await system.get(acme, '/projects');
    expect(json.data[1]).toEqual({
      project_id: uuid(4),
      name: 'P4',
      summary: null,
      status: null,
      is_archived: true,
      created_at: timeOf(2),
      billing_office_name: 'London',
    });
  });

  it('does not exist for an organization without the write surface', async () => {
    const organization = await system.createTenant({ write_surface: false });
    const { status, json } = await system.get(organization, '/projects');
    expect([status, json.error.code, json.error.message]).toEqual([404, 'not_found', expect.stringMatching(/write surface/)]);
    expect((await system.get(organization, '/entities')).status).toBe(200);
  });
});

describe('GET /v1/entities', () => {
  it('shows description and overview only if the organization may see summaries', async () => {
    const organization = await system.createTenant();
    await system.project(organization, 1);
    const fields = {
      name: 'N',
      entity_type: 'company',
      category: 'C',
      competitor_tier: 'T',
      is_competitor: true,
      domain: 'a.example',
    };
    await system.entity(organization, 1, { ...fields, description: 'D', overview: 'O' });
    const { entity_type: type, ...shown } = fields;
    const item = { entity_id: uuid(1), project_id: uuid(1), ...shown, type, created_at: timeOf(1) };
    expect((await system.get(organization, '/entities')).json.data).toEqual([{ ...item, description: 'D', overview: 'O' }]);
    await system.world.load([{ type: 'organization', id: organization, allowed_fields: ['rating'] }]);
    const listed = async () => (await system.get(organization, '/entities')).json.data;
    await expect.poll(listed).toEqual([item]);
  });
});
