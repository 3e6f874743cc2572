import { beforeAll, describe, expect, it } from 'vitest';
import { sharedWorld, tenant, type World } from '@crs/testing/world';

const DAY = 86_400_000;
const START = Date.parse('2025-03-01T00:00:00Z');

/** Two organizations that have calls with the same ids. */
const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];

let world: World;
let acme: string;
let globex: string;
/** The calls of acme in the order in which the list returns them. */
let expected: { id: string; createdAt: string }[];

const call = (organization: string, n: number, createdAt: Date) => ({
  type: 'call',
  organization,
  id: `call_${String(n).padStart(4, '0')}`,
  created_at: createdAt.toISOString(),
  date: createdAt.toISOString(),
  duration_minutes: n % 90,
  call_status: 'done',
  segment: `Segment of ${organization}`,
  source: 'Network',
  ...(n % 3 === 0 && { transcript: 'words' }),
});

/** Generates calls: many, few or none a day, and several with the same timestamp. */
const instantOf = (n: number) => new Date(START + Math.floor((n * n) / 97) * 3 * 3_600_000 + (n % 4 === 0 ? 0 : n * 1000));

beforeAll(async () => {
  world = await sharedWorld();
  const numbers = Array.from({ length: 300 }, (_, n) => n);
  await world.load([
    { type: 'organization', id: ACME, name: 'Acme', rate_limit: { requests: 100_000, period_seconds: 60 } },
    { type: 'organization', id: GLOBEX, name: 'Globex', rate_limit: { requests: 100_000, period_seconds: 60 } },
    ...numbers.map((n) => call(ACME, n, instantOf(n))),
    ...numbers.slice(0, 50).map((n) => call(GLOBEX, n, instantOf(n))),
  ]);
  acme = await world.createKey(ACME);
  globex = await world.createKey(GLOBEX);
  expected = numbers
    .map((n) => ({ id: `call_${String(n).padStart(4, '0')}`, createdAt: instantOf(n).toISOString() }))
    .sort((a, b) => (a.createdAt === b.createdAt ? (a.id < b.id ? 1 : -1) : a.createdAt < b.createdAt ? 1 : -1));
});

const list = (query: Record<string, string | number>, key = acme) =>
  world.rest(`/v1/calls?${new URLSearchParams(Object.entries(query).map(([k, v]) => [k, String(v)])).toString()}`, { key });
const ALL = { start_date: '2000-01-01T00:00:00Z', end_date: '2100-01-01T00:00:00Z' };

describe('GET /v1/calls', () => {
  it('returns items with the fields in the contract', async () => {
    const { status, json } = await list({ ...ALL, per_page: 1 });
    expect(status).toBe(200);
    const [item] = json.data;
    expect(Object.keys(item)).toEqual([
      'call_id',
      'duration_minutes',
      'created_at',
      'updated_at',
      'date',
      'call_type',
      'call_status',
      'project_id',
      'segment',
      'source',
      'has_transcript',
    ]);
    expect(item).toMatchObject({
      call_id: expected[0]!.id,
      created_at: expected[0]!.createdAt,
      call_type: 'interview',
      segment: `Segment of ${ACME}`,
    });
    expect(json.pagination).toEqual({ page: 1, per_page: 1, total_items: 300, total_pages: 300 });
  });

  it.each([7, 50, 200])('returns every call once, in order, with %i a page', async (perPage) => {
    const seen: string[] = [];
    for (let page = 1; ; page++) {
      const { json } = await list({ ...ALL, per_page: perPage, page });
      expect(json.pagination.total_items).toBe(300);
      seen.push(...json.data.map((item: { call_id: string }) => item.call_id));
      if (page === json.pagination.total_pages) break;
    }
    expect(seen).toEqual(expected.map(({ id }) => id));
  });

  it('returns exactly the calls in a range, whatever time of day it begins and ends, on every page', async () => {
    const edges = [0, 1, 3_600_000, DAY - 1, DAY, DAY + 1, 2 * DAY, 40 * DAY + 12345, 60 * DAY, 200 * DAY].map(
      (offset) => START + offset,
    );
    for (const from of edges) {
      for (const to of edges.filter((edge) => edge > from)) {
        const range = { start_date: new Date(from).toISOString(), end_date: new Date(to).toISOString() };
        const within = expected
          .filter(({ createdAt }) => Date.parse(createdAt) >= from && Date.parse(createdAt) < to)
          .map(({ id }) => id);
        const pages = Math.max(1, Math.ceil(within.length / 20));
        for (const page of new Set([1, 2, Math.ceil(pages / 2), pages, pages + 1])) {
          const { json } = await list({ ...range, per_page: 20, page });
          expect(json.pagination).toEqual({ page, per_page: 20, total_items: within.length, total_pages: pages });
          expect(json.data.map((item: { call_id: string }) => item.call_id)).toEqual(within.slice((page - 1) * 20, page * 20));
        }
      }
    }
  });

  it('returns a call at the boundary of two adjacent ranges only in the later one', async () => {
    const border = expected[100]!.createdAt;
    const before = await list({ ...ALL, end_date: border, per_page: 200 });
    const after = await list({ ...ALL, start_date: border, per_page: 200 });
    expect(before.json.pagination.total_items + after.json.pagination.total_items).toBe(300);
    expect(after.json.data.map((item: { created_at: string }) => item.created_at)).toContain(border);
  });

  it('returns an empty page past the end, and a total of one page for an empty range', async () => {
    const past = await list({ ...ALL, page: 2147483647, per_page: 200 });
    expect(past.status).toBe(200);
    expect(past.json).toEqual({ data: [], pagination: { page: 2147483647, per_page: 200, total_items: 300, total_pages: 2 } });
    const nothing = await list({ start_date: '9999-12-31T00:00:00Z', end_date: '9999-12-31T23:59:59.9999Z' });
    expect(nothing.json).toEqual({ data: [], pagination: { page: 1, per_page: 50, total_items: 0, total_pages: 1 } });
  });

  it('never returns calls of another organization', async () => {
    const { json } = await list({ ...ALL, per_page: 200 }, globex);
    expect(json.pagination.total_items).toBe(50);
    for (const item of json.data) expect(item.segment).toBe(`Segment of ${GLOBEX}`);
  });

  it('returns only calls changed since updated_since, with exact totals', async () => {
    await world.load([{ ...call(ACME, 7, instantOf(7)), summary: 'late' }]);
    const detail = await world.rest('/v1/calls/call_0007', { key: acme });
    const since = detail.json.updated_at as string;
    const { json } = await list({ ...ALL, updated_since: since });
    expect(json.data.map((item: { call_id: string }) => item.call_id)).toEqual(['call_0007']);
    expect(json.pagination.total_items).toBe(1);
    const after = await list({ ...ALL, updated_since: new Date(Date.parse(since) + 1).toISOString() });
    expect(after.json.pagination).toMatchObject({ total_items: 0, total_pages: 1 });
    const deep = await list({ ...ALL, updated_since: '2000-01-01T00:00:00Z', per_page: 40, page: 8 });
    expect(deep.json.data.map((item: { call_id: string }) => item.call_id)).toEqual(expected.slice(280).map(({ id }) => id));
  });
});
