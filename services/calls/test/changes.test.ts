import { ALLOWED_FIELDS } from '@crs/records/allowed-fields';
import { MAX_ITEMS } from '@crs/records/import-record';
import { beforeAll, describe, expect, it } from 'vitest';
import { FULL, feeds, type Feeds } from './_feed.ts';
import { PROJECT } from './_records.ts';

let feed: Feeds;
beforeAll(async () => {
  feed = await feeds();
});

const list = (organization: string, query: string) =>
  feed.get(organization, `/calls?start_date=2025-01-01T00:00:00Z&end_date=2026-01-01T00:00:00Z&expand=detail${query}`);

describe('GET /v1/changes', () => {
  it.each([1, 2, 1000])(
    'lists every call first, then each changed call once, at its last change, with %i changes a page',
    async (limit) => {
      const organization = await feed.createTenant();
      await feed.store(organization, ['a', 'b', 'c']);
      const first = await feed.follow(organization, { limit });
      expect(first.summaries).toEqual(['call.changed a', 'call.changed b', 'call.changed c']);
      const detail = await feed.get(organization, '/calls/a');
      expect(first.seen[0]!.changed_at).toBe(detail.json.updated_at);

      await feed.store(organization, ['b'], { summary: 'one' });
      await feed.remove(organization, ['a']);
      await feed.store(organization, ['b', 'd'], { summary: 'two' });
      const second = await feed.follow(organization, { limit, cursor: first.cursor });
      expect(second.summaries).toEqual(['call.deleted a', 'call.changed b', 'call.changed d']);
      expect((await feed.follow(organization, { limit, cursor: second.cursor })).summaries).toEqual([]);
      expect((await feed.follow(organization, { limit })).summaries).toEqual([
        'call.changed c',
        'call.changed b',
        'call.changed d',
      ]);
    },
  );

  it('does not list a call if nothing that its detail shows has changed', async () => {
    const organization = await feed.createTenant();
    await feed.store(organization, ['a'], FULL);
    const { cursor } = await feed.follow(organization);
    await feed.store(organization, ['a'], FULL);
    // The detail shows neither the notes nor who conducted the call.
    await feed.store(organization, ['a'], { ...FULL, notes: [], conducted_by: null });
    await feed.store(organization, ['a'], FULL);
    const [user] = (
      await feed.world.query(`select user_id as id from auth.users where organization = $1 and name = 'ann'`, [organization])
    ).rows;
    await feed.erase(organization, { $case: 'userId', value: user.id });
    await feed.remove(organization, ['unknown']);
    expect((await feed.follow(organization, { cursor })).summaries).toEqual([]);
  });

  it('stores a call and its change in one transaction, so that it never lists a call that cannot be read yet', async () => {
    const organizations = [await feed.createTenant(), await feed.createTenant()];
    for (const organization of organizations) await feed.store(organization, ['a', 'b']);
    const { rows } = await feed.world.query(
      `select distinct c.xmin::text = h.xmin::text as together from calls.calls c join calls.changes h on (c.organization, c.call_id) = (h.organization, h.record_id)
        where c.organization = any($1)`,
      [organizations],
    );
    expect(rows).toEqual([{ together: true }]);
  });

  it('lists the calls that were deleted with a project, and a call that is stored again', async () => {
    const organization = await feed.createTenant();
    await feed.store(organization, ['a', 'b'], { project_id: PROJECT });
    await feed.store(organization, ['c']);
    const { cursor } = await feed.follow(organization);
    await feed.erase(organization, { $case: 'projectId', value: PROJECT });
    const { summaries, cursor: after } = await feed.follow(organization, { cursor });
    expect(summaries.toSorted()).toEqual(['call.deleted a', 'call.deleted b']);
    await feed.store(organization, ['a']);
    expect((await feed.follow(organization, { cursor: after })).summaries).toEqual(['call.changed a']);
    expect((await feed.follow(organization, { cursor })).summaries).toEqual(['call.deleted b', 'call.changed a']);
  });

  it('has no ETag, and counts as one request against the rate limit', async () => {
    const organization = await feed.createTenant();
    const first = await feed.changes(organization);
    const second = await feed.changes(organization);
    expect(first.headers.get('etag')).toBeNull();
    const left = ({ headers }: typeof first) => Number(headers.get('x-ratelimit-remaining'));
    expect(left(first) - left(second)).toBe(1);
  });
});

describe('expand=detail', () => {
  it('returns the details of GET /v1/calls/{call_id}, byte for byte', async () => {
    const organization = await feed.createTenant({ anonymize_interviewees: true, allowed_fields: ALLOWED_FIELDS });
    await feed.store(organization, ['a', 'b'], FULL);
    await feed.store(organization, ['c']);
    for (const flags of ['', '&include_verbatim=false', '&include_redacted=false&include_clean=false']) {
      const details = await Promise.all(
        ['c', 'b', 'a'].map(
          async (id) => (await feed.get(organization, `/calls/${id}?${flags.slice(1)}`.replace(/\?$/, ''))).text,
        ),
      );
      const list = await feed.get(
        organization,
        `/calls?start_date=2025-01-01T00:00:00Z&end_date=2026-01-01T00:00:00Z&expand=detail${flags}`,
      );
      expect(list.text).toBe(
        `{"data":[${details.join(',')}],"pagination":{"page":1,"per_page":25,"total_items":3,"total_pages":1}}`,
      );
      const since = '&updated_since=2025-01-01T00:00:00Z&per_page=2';
      const changed = await feed.get(
        organization,
        `/calls?start_date=2025-01-01T00:00:00Z&end_date=2026-01-01T00:00:00Z&expand=detail${flags}${since}`,
      );
      expect(changed.text).toBe(
        `{"data":[${details.slice(0, 2).join(',')}],"pagination":{"page":1,"per_page":2,"total_items":3,"total_pages":2}}`,
      );
      const all = await feed.get(organization, `/changes?expand=detail${flags}`);
      for (const detail of details) expect(all.text).toContain(`"call":${detail}}`);
    }
  });

  it.each(['/calls?start_date=2025-01-01T00:00:00Z&end_date=2026-01-01T00:00:00Z', '/changes?'])(
    'is required for include flags at %s, and limits a page to 50 calls',
    async (path) => {
      const organization = await feed.createTenant();
      const size = path.startsWith('/calls') ? 'per_page' : 'limit';
      const message = async (query: string) => {
        const { status, json } = await feed.get(organization, path + query);
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

  it('ends a page of changes at 8 MiB, and makes a longer page of the list an error', async () => {
    const organization = await feed.createTenant();
    const transcript = 'x'.repeat(3 * 1024 * 1024);
    for (const id of ['a', 'b', 'c']) await feed.store(organization, [id], { transcript });
    const sizes: number[] = [];
    for (let cursor: string | undefined; ;) {
      const { json } = await feed.changes(organization, { expand: 'detail', limit: 50, ...(cursor && { cursor }) });
      sizes.push(json.data.length);
      cursor = json.next_cursor;
      if (!json.has_more) break;
    }
    expect(sizes).toEqual([2, 1]);
    const refused = await list(organization, '');
    expect([refused.status, refused.json.error.message]).toEqual([
      400,
      'per_page: must be at most 2 here: the details of more calls are larger than 8 MiB',
    ]);
    expect((await list(organization, '&per_page=3')).status).toBe(400);
    const { json } = await list(organization, '&per_page=2');
    expect(json.data.map(({ call_id: id }: { call_id: string }) => id)).toEqual(['c', 'b']);
    // Transcripts that aren't included don't count.
    expect((await list(organization, '&include_verbatim=false')).json.data.length).toBe(3);
    expect((await feed.changes(organization, { expand: 'detail', include_verbatim: 'false' })).json.data.length).toBe(3);
  });

  it('ends a page at exactly 8 MiB of stored text, or after one call that is longer', async () => {
    const organization = await feed.createTenant();
    const limit = 8 * 1024 * 1024;
    await feed.store(organization, ['a', 'b'], { transcript: '' });
    const [{ withoutTranscripts }] = (
      await feed.world.query(
        `select sum(octet_length(detail_json) + coalesce(octet_length(verbatim), 0) + coalesce(octet_length(verbatim_segments), 0))::int as "withoutTranscripts"
          from calls.calls where organization = $1`,
        [organization],
      )
    ).rows;
    const pageSizes = async () => {
      const { status, json } = await list(organization, '');
      return [
        (await feed.changes(organization, { expand: 'detail' })).json.data.length,
        status === 200 ? json.data.length : status,
      ];
    };
    const half = limit / 2;
    await feed.store(organization, ['a'], { transcript: 'x'.repeat(half) });
    await feed.store(organization, ['b'], { transcript: 'x'.repeat(half - withoutTranscripts) });
    expect(await pageSizes()).toEqual([2, 2]);
    await feed.store(organization, ['b'], { transcript: 'x'.repeat(half - withoutTranscripts + 1) });
    expect(await pageSizes()).toEqual([1, 400]);
    await feed.store(organization, ['b'], { deleted: true, created_at: undefined });
    await feed.store(organization, ['a'], { transcript: 'x'.repeat(limit) });
    expect(await pageSizes()).toEqual([1, 1]);
  });

  // An empty block is only `{}` in an import line, but a whole object in the detail, so a short line can have a very long detail.
  it('returns a call that was imported with the maximum number of Q&A blocks, all of them empty', async () => {
    const organization = await feed.createTenant();
    await feed.store(organization, ['wide'], { qa_blocks: Array.from({ length: MAX_ITEMS }, () => ({})) });
    const { json } = await feed.changes(organization, { expand: 'detail' });
    expect([json.data.length, json.data[0].call.qa_blocks.length, json.has_more]).toEqual([1, MAX_ITEMS, false]);
  });
});
