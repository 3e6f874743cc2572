import { ALLOWED_FIELDS } from '@crs/kit/product/allowed-fields';
import { startWorld, type World } from '@crs/testing/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callLine, PROJECT, sendBatch, tenant } from './_records.ts';

let world: World;
/** Keys of organizations. */
const keys = new Map<string, string>();
let organizations = 0;

beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.close());

/** A new organization with a key. */
async function createTenant(settings: object = {}): Promise<string> {
  const id = `org-${++organizations}`;
  await world.load(tenant(id, settings));
  keys.set(id, await world.createKey(id));
  return id;
}

const get = (organization: string, path: string, query: Record<string, string | number> = {}) => {
  const text = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)])).toString();
  return world.rest(`/v1${path}${text === '' ? '' : `?${text}`}`, { key: keys.get(organization) });
};
const changes = (organization: string, query: Record<string, string | number> = {}) => get(organization, '/changes', query);

/** Follows to the end. @returns what each change says, in order, and the last cursor */
async function follow(organization: string, query: Record<string, string | number> = {}) {
  const seen: { type: string; call_id: string | null; changed_at: string; call?: object }[] = [];
  for (let asked = query; ;) {
    const { status, json, text } = await changes(organization, asked);
    expect(status, text).toBe(200);
    seen.push(...json.data);
    asked = { ...query, cursor: json.next_cursor };
    if (!json.has_more)
      return { seen, said: seen.map(({ type, call_id: id }) => `${type} ${id}`), cursor: json.next_cursor as string };
  }
}

const store = (organization: string, ids: string[], fields: object = {}) =>
  sendBatch(
    world,
    organization,
    ids.map((id) => callLine(organization, id, { created_at: '2025-03-01T00:00:00Z', ...fields })),
  );
const remove = (organization: string, ids: string[]) => store(organization, ids, { deleted: true, created_at: undefined });
const erase = async (organization: string, target: Parameters<World['operator']['erasers']['calls']['erase']>[0]['target']) =>
  world.operator.erasers.calls.erase({ target }, await world.operator.operator(organization));

const FULL = {
  project_id: PROJECT,
  conducted_by: 'ann@crs.example',
  anonymity_status: 'complete',
  expert: { name: 'Eva Muster', organization: 'Initech' },
  participants: [{ name: 'eva muster', role: 'expert', email: 'eva@initech.example' }],
  summary: 'Short.',
  qa_blocks: [{ question: 'Why?', answer: 'Because.' }],
  transcript: [{ speaker: 'Eva Muster', start_seconds: 1, text: 'Hello.' }],
  redacted_transcript: 'Expert: Hello.',
  notes: [{ email: 'ann@crs.example', text: 'secret' }],
};

describe('GET /v1/changes', () => {
  it.each([1, 2, 1000])('begins with every call, and tells each change once, at its latest, %i a page', async (limit) => {
    const organization = await createTenant();
    await store(organization, ['a', 'b', 'c']);
    const first = await follow(organization, { limit });
    expect(first.said).toEqual(['call.changed a', 'call.changed b', 'call.changed c']);
    const detail = await get(organization, '/calls/a');
    expect(first.seen[0]!.changed_at).toBe(detail.json.updated_at);

    await store(organization, ['b'], { summary: 'one' });
    await remove(organization, ['a']);
    await store(organization, ['b', 'd'], { summary: 'two' });
    const second = await follow(organization, { limit, cursor: first.cursor });
    expect(second.said).toEqual(['call.deleted a', 'call.changed b', 'call.changed d']);
    expect((await follow(organization, { limit, cursor: second.cursor })).said).toEqual([]);
    expect((await follow(organization, { limit })).said).toEqual(['call.changed c', 'call.changed b', 'call.changed d']);
  });

  it('says nothing where nothing that the detail shows has changed', async () => {
    const organization = await createTenant();
    await store(organization, ['a'], FULL);
    const { cursor } = await follow(organization);
    await store(organization, ['a'], FULL);
    await store(organization, ['a'], { ...FULL, notes: [], conducted_by: null });
    const [user] = (
      await world.query(`select user_id as id from auth.users where organization = $1 and name = 'ann'`, [organization])
    ).rows;
    await erase(organization, { $case: 'userId', value: user.id });
    await remove(organization, ['unknown']);
    expect((await follow(organization, { cursor })).said).toEqual([]);
  });

  it('tells the deletions of a project, and a call that is stored again', async () => {
    const organization = await createTenant();
    await store(organization, ['a', 'b'], { project_id: PROJECT });
    await store(organization, ['c']);
    const { cursor } = await follow(organization);
    await erase(organization, { $case: 'projectId', value: PROJECT });
    const { said, cursor: after } = await follow(organization, { cursor });
    expect(said.toSorted()).toEqual(['call.deleted a', 'call.deleted b']);
    await store(organization, ['a']);
    expect((await follow(organization, { cursor: after })).said).toEqual(['call.changed a']);
    expect((await follow(organization, { cursor })).said).toEqual(['call.deleted b', 'call.changed a']);
  });

  it('has no entity tag, and counts as one request', async () => {
    const organization = await createTenant();
    const first = await changes(organization);
    const second = await changes(organization);
    expect(first.headers.get('etag')).toBeNull();
    const left = ({ headers }: typeof first) => Number(headers.get('x-ratelimit-remaining'));
    expect(left(first) - left(second)).toBe(1);
  });
});

describe('details', () => {
  it('are those of GET /v1/calls/{call_id}, byte for byte', async () => {
    const organization = await createTenant({ anonymize_interviewees: true, allowed_fields: ALLOWED_FIELDS });
    await store(organization, ['a', 'b'], FULL);
    await store(organization, ['c']);
    for (const flags of ['', '&include_verbatim=false', '&include_redacted=false&include_clean=false']) {
      const details = await Promise.all(
        ['c', 'b', 'a'].map(async (id) => (await get(organization, `/calls/${id}?${flags.slice(1)}`.replace(/\?$/, ''))).text),
      );
      const list = await get(
        organization,
        `/calls?start_date=2025-01-01T00:00:00Z&end_date=2026-01-01T00:00:00Z&expand=detail${flags}`,
      );
      expect(list.text).toBe(
        `{"data":[${details.join(',')}],"pagination":{"page":1,"per_page":25,"total_items":3,"total_pages":1}}`,
      );
      const since = '&updated_since=2025-01-01T00:00:00Z&per_page=2';
      const changed = await get(
        organization,
        `/calls?start_date=2025-01-01T00:00:00Z&end_date=2026-01-01T00:00:00Z&expand=detail${flags}${since}`,
      );
      expect(changed.text).toBe(
        `{"data":[${details.slice(0, 2).join(',')}],"pagination":{"page":1,"per_page":2,"total_items":3,"total_pages":2}}`,
      );
      const feed = await get(organization, `/changes?expand=detail${flags}`);
      for (const detail of details) expect(feed.text).toContain(`"call":${detail}}`);
    }
  });

  it.each(['/calls?start_date=2025-01-01T00:00:00Z&end_date=2026-01-01T00:00:00Z', '/changes?'])(
    '%s takes flags and 50 calls a page only with them',
    async (path) => {
      const organization = await createTenant();
      const size = path.startsWith('/calls') ? 'per_page' : 'limit';
      const message = async (query: string) => {
        const { status, json } = await get(organization, path + query);
        return `${status} ${json.error?.message}`;
      };
      expect(await message('&expand=full')).toBe('400 expand: must be detail');
      expect(await message('&include_clean=false')).toBe('400 include_clean: needs expand=detail');
      expect(await message(`&expand=detail&${size}=51`)).toBe(
        `400 ${size}: must be a whole number from 1 to 50 with expand=detail, in digits`,
      );
      expect(await message(`&expand=detail&${size}=50`)).toMatch(/^200/);
    },
  );

  it('end a page of changes at 16 MiB, and refuse a list page over 32 MiB', async () => {
    const organization = await createTenant();
    const transcript = 'x'.repeat(7 * 1024 * 1024);
    for (const id of ['a', 'b', 'c', 'd', 'e']) await store(organization, [id], { transcript });
    const sizes: number[] = [];
    for (let cursor: string | undefined; ;) {
      const { json } = await changes(organization, { expand: 'detail', limit: 50, ...(cursor && { cursor }) });
      sizes.push(json.data.length);
      cursor = json.next_cursor;
      if (!json.has_more) break;
    }
    expect(sizes).toEqual([2, 2, 1]);
    const list = (size: string) =>
      get(organization, `/calls?start_date=2025-01-01T00:00:00Z&end_date=2026-01-01T00:00:00Z&expand=detail${size}`);
    const refused = await list('');
    expect([refused.status, refused.json.error.message]).toEqual([
      400,
      'per_page: must be at most 4 here: the details of more calls are larger than 32 MiB',
    ]);
    const { json } = await list('&per_page=4');
    expect(json.data.map(({ call_id: id }: { call_id: string }) => id)).toEqual(['e', 'd', 'c', 'b']);
    // What isn't shown doesn't count.
    expect((await list('&include_verbatim=false')).json.data.length).toBe(5);
    expect((await changes(organization, { expand: 'detail', include_verbatim: 'false' })).json.data.length).toBe(5);
  });
});

describe('settings', () => {
  it('that change begin the walk again, and no page shows an old field afterwards', async () => {
    const organization = await createTenant();
    await store(organization, ['a', 'b', 'c'], FULL);
    const { cursor } = await follow(organization);
    const first = await changes(organization, { expand: 'detail', limit: 1 });
    expect(first.text).toContain('Short.');
    await world.load([
      { type: 'organization', id: organization, allowed_fields: ['interviewee.name'], anonymize_interviewees: true },
    ]);
    for (const begun of [cursor, first.json.next_cursor as string]) {
      const { seen, said } = await follow(organization, { cursor: begun, expand: 'detail', limit: 2 });
      expect(said).toEqual(['access.changed null', 'call.changed a', 'call.changed b', 'call.changed c']);
      expect(JSON.stringify(seen)).not.toMatch(/Short|Eva Muster/i);
      expect(JSON.stringify(seen)).toContain('Expert ');
      expect(Math.abs(Date.parse(seen[0]!.changed_at) - Date.now())).toBeLessThan(60_000);
    }
    const { json } = await changes(organization, { cursor, limit: 1 });
    expect([json.data.length, json.data[0].type, json.has_more]).toEqual([1, 'access.changed', true]);
    expect((await follow(organization, { cursor: json.next_cursor, limit: 1 })).said).toHaveLength(3);
  });

  it('that change nothing of a call, or stay as they are, tell nothing', async () => {
    const organization = await createTenant();
    await store(organization, ['a']);
    const { cursor } = await follow(organization);
    await world.load([
      { type: 'organization', id: organization, name: 'Other', write_surface: true, allowed_fields: ALLOWED_FIELDS },
    ]);
    expect((await follow(organization, { cursor })).said).toEqual([]);
    await world.load([{ type: 'organization', id: organization, allowed_fields: null }]);
    await world.load([{ type: 'organization', id: organization, allowed_fields: ALLOWED_FIELDS }]);
    expect((await follow(organization, { cursor })).said).toEqual(['access.changed null', 'call.changed a']);
  });

  it('that change keep deletions that the follower was not told of', async () => {
    const organization = await createTenant();
    await store(organization, ['a', 'b', 'c']);
    await remove(organization, ['c']);
    const { cursor } = await follow(organization);
    await remove(organization, ['a']);
    await world.load([{ type: 'organization', id: organization, allowed_fields: [] }]);
    expect((await follow(organization, { cursor, limit: 1 })).said).toEqual([
      'access.changed null',
      'call.changed b',
      'call.deleted a',
    ]);
  });
});

describe('a cursor', () => {
  const REFUSAL = /^400 cursor: can't be used: .* Begin again without it/;
  const tried = async (organization: string, cursor: string) => {
    const { status, json } = await changes(organization, { cursor });
    return `${status} ${json.error?.message}`;
  };

  it('of another organization, or changed, is refused', async () => {
    const [own, other] = [await createTenant(), await createTenant()];
    for (const organization of [own, other]) await store(organization, ['a']);
    const { cursor } = await follow(own);
    expect(await tried(other, cursor)).toMatch(REFUSAL);
    for (const changed of [cursor.slice(1), `${cursor}A`, cursor.replace(/.$/, '!'), 'x', 'x'.repeat(1000)]) {
      expect(await tried(own, changed)).toMatch(REFUSAL);
    }
    expect(await tried(own, 'x'.repeat(1001))).toBe('400 cursor: must be a `next_cursor` of an earlier answer');
  });

  it('works with each key of the organization, and with a read-only one', async () => {
    const organization = await createTenant();
    await store(organization, ['a']);
    const { cursor } = await follow(organization);
    keys.set(organization, await world.createKey(organization, { readOnly: true }));
    expect((await follow(organization, { cursor })).said).toEqual([]);
  });

  it('is refused once the organization was made anew, or the database was restored', async () => {
    const organization = await createTenant();
    const empty = await follow(organization);
    await erase(organization, { $case: 'organization', value: true });
    expect(await tried(organization, empty.cursor)).toMatch(REFUSAL);
    await store(organization, ['a']);
    expect(await tried(organization, empty.cursor)).toMatch(REFUSAL);
    const { cursor } = await follow(organization);
    await world.query(`update calls.feeds set secret = sha256(secret) where organization = $1`, [organization]);
    expect(await tried(organization, cursor)).toMatch(REFUSAL);
    expect((await follow(organization)).said).toEqual(['call.changed a']);
  });

  it('is refused once a deletion is forgotten that its follower may have missed', async () => {
    const organization = await createTenant();
    await store(organization, ['a', 'b', 'c', 'd']);
    const before = await changes(organization, { limit: 1 });
    const whole = await follow(organization);
    await remove(organization, ['a']);
    const after = await follow(organization, { cursor: whole.cursor });
    const begun = await changes(organization, { limit: 1 });
    const age = (days: number) =>
      world.query(`update calls.changes set changed_at = now() - interval '1 day' * $2 where organization = $1 and deleted`, [
        organization,
        days,
      ]);
    await age(29.9);
    await store(organization, ['b'], { summary: 'moves' });
    expect((await follow(organization, { cursor: whole.cursor })).said).toEqual(['call.deleted a', 'call.changed b']);
    await age(30.1);
    await store(organization, ['b'], { summary: 'forgets' });
    expect(await tried(organization, before.json.next_cursor)).toMatch(REFUSAL);
    expect(await tried(organization, whole.cursor)).toMatch(REFUSAL);
    expect((await follow(organization, { cursor: after.cursor })).said).toEqual(['call.changed b']);
    // This walk began after the deletion, so its own place doesn't matter.
    expect((await follow(organization, { cursor: begun.json.next_cursor })).said).toEqual([
      'call.changed c',
      'call.changed d',
      'call.changed b',
    ]);
  });
});
