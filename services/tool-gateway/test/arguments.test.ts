import { beforeAll, describe, expect, it } from 'vitest';
import { toolClient, type Tools } from '@crs/testing/mcp';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { ask, bearer, errorOf, MODERN, spoken, toolCall } from './_requests.ts';

const ANN = 'ann@acme.example';
const PROJECT = '00000000-0000-4000-8000-00000000000a';

const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];

let world: World;
let tools: Tools;
let token: string;

beforeAll(async () => {
  world = await sharedWorld();
  await world.load(
    [ACME, GLOBEX].flatMap((organization) => [
      { type: 'organization', id: organization, name: 'Acme', tool_rate_limit: { requests: 100_000, period_seconds: 60 } },
      { type: 'user', organization, email: ANN, name: 'Ann' },
      { type: 'project', organization, id: PROJECT, created_by: ANN },
      { type: 'call', organization, id: 'call_1', project_id: PROJECT, conducted_by: ANN },
      { type: 'entity', organization, id: PROJECT, project_id: PROJECT },
    ]),
  );
  token = await bearer(world, ACME, ANN);
  tools = toolClient(world.stack.addresses.tools, token.slice('Bearer '.length));
});

/** The required arguments of each tool. */
const NEEDED: Record<string, object> = {
  get_call: { call_id: 'call_1' },
  list_calls: {},
  list_entities: { project_id: PROJECT },
  list_projects: {},
};

/** The accepted values of a parameter, and its refused values by the reason. */
interface Parameter {
  good: unknown[];
  bad: Record<string, unknown[]>;
}

const text = (max: number): Parameter => ({
  good: ['x', 'x'.repeat(max), '😀'.repeat(max), ' ', '%_\\'],
  bad: {
    [`must have 1 to ${max} characters`]: ['', 'x'.repeat(max + 1), '😀'.repeat(max + 1)],
    'must be text': [1, true, ['x'], {}],
    'must not contain the NUL character': ['a\0b'],
    'must not contain a lone surrogate': ['a\ud800b'],
  },
});
const choice = (...values: string[]): Parameter => ({
  good: values,
  bad: { [`must be one of ${values.join(', ')}`]: ['', values[0]!.toUpperCase(), 'other', 1, true, []] },
});
const limit = (max: number): Parameter => ({
  good: [1, max],
  bad: {
    'must be at least 1': [0, -1, -1e300],
    [`must be at most ${max}`]: [max + 1, 1e300],
    'must be a whole number': [1.5],
    'must be a number': ['1', true, []],
  },
});
const amount: Parameter = {
  good: [0, 0.5, 1e6, 1e300, 5e-324],
  bad: { 'must be at least 0': [-0.01, -1], 'must be a number': ['1', true, {}] },
};
const flag: Parameter = { good: [true, false], bad: { 'must be true or false': ['true', 1, 0, []] } };
const uuid: Parameter = {
  good: [PROJECT, PROJECT.toUpperCase()],
  bad: {
    'must be a UUID, as list_projects answers it in id': [
      '',
      'x',
      PROJECT.slice(1),
      `${PROJECT}0`,
      `{${PROJECT}}`,
      `${PROJECT}\n`,
    ],
    'must be text': [1, true],
  },
};
const instant: Parameter = {
  good: [
    '2025-01-31T00:00:00Z',
    '2025-01-31t00:00:00.123456z',
    '2024-02-29T23:59:59-11:30',
    '0001-01-01T00:00:00Z',
    '9999-12-31T23:59:59.9999Z',
  ],
  bad: {
    'must be an RFC 3339 date-time with Z or an offset, such as 2026-01-31T00:00:00Z': [
      ...['', '2025-01-31', '2025-01-31T00:00:00', '2025-02-29T00:00:00Z', '2025-01-31T24:00:00Z', '2025-01-31T23:59:60Z'],
      ...['0000-01-01T00:00:00Z', '2025-01-31 00:00:00Z', '2025-01-31T00:00:00 02:00', 'yesterday'],
    ],
    'must be text': [0, 1_738_281_600_000, {}],
  },
};

const PARAMETERS: Record<string, Record<string, Parameter>> = {
  list_projects: { scope: choice('mine', 'all'), include_archived: flag, limit: limit(100) },
  list_calls: {
    scope: choice('mine', 'all', 'project'),
    project_id: uuid,
    call_status: text(64),
    call_type: choice('interview', 'meeting'),
    country: text(64),
    job_title_contains: text(128),
    organization_contains: text(128),
    source_contains: text(128),
    segment_contains: text(128),
    min_rating: {
      good: [1, 5],
      bad: {
        'must be at least 1': [0],
        'must be at most 5': [6, 5.5, 1e300],
        'must be a whole number': [1.5],
        'must be a number': ['3', true],
      },
    },
    min_cost: amount,
    max_cost: amount,
    min_duration_minutes: amount,
    max_duration_minutes: amount,
    date_after: instant,
    date_before: instant,
    limit: limit(100),
  },
  get_call: {
    include_ktas: flag,
    include_notes: flag,
    include_qa: flag,
    include_summary: flag,
    include_transcript: flag,
  },
  list_entities: {
    project_id: uuid,
    type: {
      good: ['x', '', 'x'.repeat(1_000)],
      bad: { 'must be text': [1, []], 'must not contain the NUL character': ['\0'] },
    },
    limit: limit(200),
  },
};

describe.each(Object.entries(PARAMETERS))('%s', (name, parameters) => {
  const call = (args: object) => tools(name, { ...NEEDED[name], ...args });

  it.each(Object.entries(parameters))(
    'accepts %s within its limits, and refuses other values with an error that states the limit',
    async (field, { good, bad }) => {
      for (const value of good) expect((await call({ [field]: value })).error, JSON.stringify(value)).toBeUndefined();
      for (const [reason, values] of Object.entries(bad)) {
        for (const value of values) {
          const { status, error } = await call({ [field]: value });
          const { code, message } = error ?? {};
          expect([status, code, message], JSON.stringify(value)).toEqual([200, 'bad_request', `${field}: ${reason}`]);
        }
      }
    },
  );

  it('reads null as absent', async () => {
    const optional = Object.keys(parameters).filter((field) => !(field in NEEDED[name]!));
    const nulls = Object.fromEntries(optional.map((field) => [field, null]));
    expect((await call(nulls)).value).toEqual((await call({})).value);
  });

  it('refuses an unknown property', async () => {
    const known = Object.keys({ ...NEEDED[name], ...parameters }).toSorted();
    for (const [more, problem] of [
      [{ nope: 1 }, 'nope: is not a known property'],
      [{ Limit: 1 }, 'Limit: is not a known property'],
      [{ 'a secret, perhaps': 1 }, 'arguments: has a property that is not known'],
      [{ ['__proto__']: {} }, '__proto__: is not a known property'],
    ] as const) {
      const modern = spoken(MODERN, toolCall(name, { ...NEEDED[name], ...more }), token);
      for (const { code, message } of [(await call(more)).error, errorOf(await ask(world.stack.addresses.tools, modern))]) {
        const [begin, list] = message.split('. Known: ');
        expect([code, begin]).toEqual(['bad_request', problem]);
        const listed = list.slice(0, -1).split(', ') as string[];
        expect(listed.filter((each) => each !== 'cursor').toSorted()).toEqual(known);
      }
    }
  });

  it.each(['query', 'q', 'search', 'search_text', 'searchTerm', 'keywords', 'text', 'Query'])(
    'refuses %s with an explanation that text search is not available, and what to do instead',
    async (argument) => {
      const { error } = await call({ [argument]: 'prices' });
      expect([error.code, error.message]).toEqual([
        'bad_request',
        `${argument}: is not a known property: there is no text search. Find calls by the filters of list_calls (project, segment, country, job title, employer, source, dates), then read those that may matter with get_call.`,
      ]);
    },
  );
});

describe('a missing required argument', () => {
  it.each([
    ['get_call', 'call_id'],
    ['list_entities', 'project_id'],
  ])('makes %s fail with an error that names %s', async (name, field) => {
    for (const args of [{}, { [field]: null }])
      expect((await tools(name, args)).error).toMatchObject({ code: 'bad_request', message: `${field}: is required` });
  });
});

describe('an unknown or malformed id', () => {
  it.each(['', 'call_2', 'x'.repeat(10_000), 'a\0b', 'a\ud800b', '../call_1', 'CALL_1', 'call_1 ', '😀'])(
    'as call_id %j gets the same not_found as any unknown id',
    async (callId) => {
      const { status, error } = await tools('get_call', { call_id: callId });
      const { error: other } = await tools('get_call', { call_id: 'unknown' });
      expect([status, { ...error, request_id: '' }]).toEqual([200, { ...other, request_id: '' }]);
      expect(error.code).toBe('not_found');
    },
  );

  it('as call_id must be text', async () => {
    expect((await tools('get_call', { call_id: 7 })).error.message).toBe('call_id: must be text');
  });

  it('as project_id gets not_found from list_entities, and no rows from list_calls', async () => {
    const unknown = { project_id: PROJECT.replace(/a$/, 'f') };
    expect((await tools('list_entities', unknown)).error.code).toBe('not_found');
    expect((await tools('list_calls', { ...unknown, scope: 'all' })).value).toEqual({ calls: [], next_cursor: null });
  });
});
