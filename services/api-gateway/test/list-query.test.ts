import { beforeAll, describe, expect, it } from 'vitest';
import { sharedWorld, tenant, type World } from '@crs/testing/world';

const RANGE = 'start_date=2025-01-01T00:00:00Z&end_date=2026-01-01T00:00:00Z';
const AT = '2025-03-01T00:00:00';
const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];

let world: World;
let key: string;

/** In both organizations, call_123 was created 123 ms after AT, and call_124 a millisecond later. */
beforeAll(async () => {
  world = await sharedWorld();
  await world.load(
    [ACME, GLOBEX].flatMap((organization) => [
      { type: 'organization', id: organization, name: organization, rate_limit: { requests: 100_000, period_seconds: 60 } },
      ...['123', '124'].map((ms) => ({ type: 'call', organization, id: `call_${ms}`, created_at: `${AT}.${ms}Z` })),
    ]),
  );
  key = await world.createKey(ACME);
});

const list = (query: string) => world.rest(`/v1/calls?${query}`, { key });
const found = async (query: string) => {
  const { status, json } = await list(query);
  expect(status, query).toBe(200);
  return json.data.map((item: { call_id: string }) => item.call_id).toSorted();
};

describe('a page', () => {
  it.each([
    ['', 1, 50],
    ['&page=1', 1, 50],
    ['&page=2147483647', 2147483647, 50],
    ['&per_page=1', 1, 1],
    ['&per_page=200', 1, 200],
    ['&page=2147483647&per_page=200', 2147483647, 200],
  ])('for %j is page %i, with %i calls a page', async (query, page, perPage) => {
    const { status, json } = await list(RANGE + query);
    expect(status).toBe(200);
    expect(json.pagination).toMatchObject({ page, per_page: perPage, total_items: 2 });
  });

  it.each(['page=0', 'page=2147483648', 'page=01', 'per_page=0', 'per_page=201'])(
    'for %s is refused rather than clamped',
    async (query) => {
      const { status, json } = await list(`${RANGE}&${query}`);
      expect(status).toBe(400);
      expect(json.error.code).toBe('bad_request');
      expect(json.error.message).toMatch(
        new RegExp(`^${query.split('=')[0]}: must be a whole number from 1 to (2147483647|200), in digits$`),
      );
    },
  );
});

describe('a parameter', () => {
  it.each([
    ['start_date', 'end_date=2026-01-01T00:00:00Z'],
    ['end_date', 'start_date=2025-01-01T00:00:00Z'],
    ['start_date', ''],
    ['start_date', `start_date=&end_date=2026-01-01T00:00:00Z`],
    ['start_date', `${RANGE}&start_date=2025-01-01T00:00:00Z`],
    ['page', `${RANGE}&page=1&page=1`],
    ['page', `${RANGE}&page=`],
    ['per_page', `${RANGE}&per_page`],
    ['limit', `${RANGE}&limit=10`],
    ['Page', `${RANGE}&Page=1`],
    ['updated_since', `${RANGE}&updated_since=yesterday`],
    ['end_date', `start_date=2025-01-01T00:00:00Z&end_date=2026-01-01T00:00:00Z%00`],
    ['start_date', `start_date=%ED%A0%80&end_date=2026-01-01T00:00:00Z`],
    ['end_date', `start_date=2025-01-01T00:00:00Z&end_date=%FF%`],
  ])('that is missing, empty, repeated, unknown or invalid is named in the error: %s for %j', async (name, query) => {
    const { status, json } = await list(query);
    expect(status).toBe(400);
    expect(json.error.code).toBe('bad_request');
    expect(json.error.message).toMatch(new RegExp(`^${name}: `));
  });
});

describe('a range', () => {
  it.each([
    ['reversed', '2025-03-02T00:00:00Z', '2025-03-01T00:00:00Z'],
    ['empty', '2025-03-01T00:00:00Z', '2025-03-01T00:00:00Z'],
    ['empty, with equal times in two offsets', '2025-03-01T00:00:00Z', '2025-03-01T01:00:00%2B01:00'],
    ['empty once truncated to the millisecond', `${AT}.1230001Z`, `${AT}.1239999Z`],
  ])('that is %s is refused', async (_, start, end) => {
    const { status, json } = await list(`start_date=${start}&end_date=${end}`);
    expect(status).toBe(400);
    expect(json.error.message).toMatch(/^start_date: must be before end_date/);
  });

  it.each([
    ['0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z'],
    ['0001-01-01T00:00:00.000000001Z', '9999-12-31T23:59:59.9999999Z'],
    ['2025-02-28t23:00:00-01:00', '2025-03-01t00:00:00.125z'],
    ['2025-03-01T23:59:00%2B23:59', '2025-02-28T00:02:00-23:59'],
  ])('from %s to %s is served', async (start, end) => {
    expect(await found(`start_date=${start}&end_date=${end}`)).toEqual(['call_123', 'call_124']);
  });

  it('in the future is empty', async () => {
    expect(await found('start_date=9998-01-01T00:00:00Z&end_date=9999-01-01T00:00:00Z')).toEqual([]);
  });

  it.each([
    ['2025-03-01T00:00:00', 'with "Z" or an offset'],
    ['2025-03-01T00:00:00+01:00', '"+" in a URL means a space'],
    ['2025-02-29T00:00:00Z', 'RFC 3339'],
    ['0000-01-01T00:00:00Z', 'in the years 0001 to 9999'],
  ])('from %s is refused', async (start, message) => {
    const { status, json } = await list(`start_date=${start}&end_date=2026-01-01T00:00:00Z`);
    expect(status).toBe(400);
    expect(json.error.message).toMatch(/^start_date: /);
    expect(json.error.message).toContain(message);
  });

  it.each([
    ['.122', '.126', ['call_123', 'call_124']],
    ['.123', '.124', ['call_123']],
    ['.12300000000000000000', '.12400000000000000000', ['call_123']],
    ['.1230001', '.124', ['call_123']],
    ['.1230001', '.125', ['call_123', 'call_124']],
    ['.12399999999999999999', '.125', ['call_123', 'call_124']],
    ['.12', '.123', []],
    ['.12', '.1239', []],
    ['.12', '.12399999999999999999', []],
    ['.1', '.1240', ['call_123']],
    ['.1', '.1249999999', ['call_123']],
  ])('from %s to %s has its bounds truncated to the millisecond', async (start, end, ids) => {
    expect(await found(`start_date=${AT}${start}Z&end_date=${AT}${end}Z`)).toEqual(ids);
  });

  it.each(['.1230004', '.1235', '.1239999', '.1240001'])(
    'that ends at %s shares no call with one that begins there',
    async (border) => {
      const earlier = await found(`start_date=${AT}.1Z&end_date=${AT}${border}Z`);
      const later = await found(`start_date=${AT}${border}Z&end_date=${AT}.2Z`);
      expect([...earlier, ...later]).toEqual(['call_123', 'call_124']);
    },
  );

  it('includes a change at exactly the given time', async () => {
    const { json } = await world.rest('/v1/calls/call_123', { key });
    const [seconds] = json.updated_at.split('Z');
    const at = (fraction: string) => found(`${RANGE}&updated_since=${seconds}${fraction}Z`);
    expect(await at('')).toContain('call_123');
    expect(await at('0000')).toContain('call_123');
    expect(await at('9999')).toContain('call_123');
  });
});

describe('the transcript flags of GET /v1/calls/{call_id}', () => {
  it.each(['include_verbatim', 'include_redacted', 'include_clean'])(
    'include %s, which must be true or false, and given at most once',
    async (flag) => {
      const get = (query: string) => world.rest(`/v1/calls/call_123?${query}`, { key });
      for (const value of ['true', 'false']) expect((await get(`${flag}=${value}`)).status).toBe(200);
      for (const query of [`${flag}=TRUE`, `${flag}=1`, `${flag}=`, flag, `${flag}=true&${flag}=true`]) {
        const { status, json } = await get(query);
        expect(status, query).toBe(400);
        expect(json.error.message).toMatch(new RegExp(`^${flag}: `));
      }
    },
  );

  it('are its only query parameters', async () => {
    const { status, json } = await world.rest('/v1/calls/call_123?page=1', { key });
    expect(status).toBe(400);
    expect(json.error.message).toBe("page: isn't a parameter here. Allowed: include_verbatim, include_redacted, include_clean");
  });
});
