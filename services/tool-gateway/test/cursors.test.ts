import { beforeAll, describe, expect, it } from 'vitest';
import { Encrypter } from '@crs/kit/data/encrypter';
import { parseSecrets } from '@crs/kit/process/secrets';
import { toolClient, type Tools } from '@crs/testing/mcp';
import { SECRET } from '@crs/testing/setup';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { PageCursors } from '../src/tools/cursor.ts';
import { bearer } from './_requests.ts';

const ANN = 'ann@example.com';
const BOB = 'bob@example.com';
const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];
const [ALPHA, BETA] = ['00000000-0000-4000-8000-0000000000a0', '00000000-0000-4000-8000-0000000000b0'];
/** The value of every text field that a filter matches. It has upper and lower case, and a letter with two Unicode forms. */
const WORD = 'Côte';
const ROWS = 12;

const id = (n: number) => `00000000-0000-4000-9000-${String(n).padStart(12, '0')}`;
const time = (n: number) => new Date(Date.UTC(2025, 0, 1) + n * 3_600_000).toISOString();

interface List {
  name: string;
  key: string;
  /** Arguments for which Ann gets the rows. */
  args: object;
  /** The import record of the n-th row, with that time. */
  row: (organization: string, n: number, at: string) => object;
  /** Pairs of arguments with the same meaning. */
  same: [object, object][];
  /** Pairs of arguments with different meanings. */
  other: [object, object][];
  /** The normalized form of `args`, which cursors are bound to. */
  meaning: object;
}

const contains = ['job_title_contains', 'organization_contains', 'source_contains', 'segment_contains'];
const LISTS: List[] = [
  {
    name: 'list_calls',
    key: 'calls',
    args: { project_id: ALPHA },
    row: (organization, n, at) => ({
      type: 'call',
      organization,
      id: id(n),
      project_id: ALPHA,
      conducted_by: ANN,
      call_status: 'done',
      cost: 10,
      date: at,
      duration_minutes: 10,
      expert: { name: organization, job_title: WORD, organization: WORD, country: WORD },
      rating: 3,
      segment: WORD,
      source: WORD,
    }),
    same: [
      [{}, { scope: 'mine' }],
      [{}, { country: null, date_after: null }],
      [{ scope: 'all' }, { scope: 'project' }],
      [{ project_id: ALPHA }, { project_id: ALPHA.toUpperCase() }],
      ...['country', ...contains].map((name): [object, object] => [{ [name]: WORD }, { [name]: 'CO\u0302TE' }]),
      [{ date_after: '2024-12-31T23:00:00Z' }, { date_after: '2025-01-01T01:00:00.000+02:00' }],
      [{ date_after: '2024-12-31T23:00:00.001Z' }, { date_after: '2024-12-31t23:00:00.0019z' }],
      [{ date_before: '2025-02-01T00:00:00.001Z' }, { date_before: '2025-02-01T00:00:00.0019Z' }],
      [
        { country: WORD, call_status: 'done' },
        { call_status: 'done', country: WORD },
      ],
    ],
    other: [
      ...[
        { scope: 'all' },
        { call_status: 'done' },
        { call_type: 'interview' },
        { country: WORD },
        ...contains.map((name) => ({ [name]: WORD })),
        { min_rating: 3 },
        { min_cost: 0 },
        { max_cost: 10 },
        { min_duration_minutes: 0 },
        { max_duration_minutes: 10 },
        { date_after: '2024-01-01T00:00:00Z' },
        { date_before: '2026-01-01T00:00:00Z' },
      ].flatMap((filter): [object, object][] => [
        [{}, filter],
        [filter, {}],
      ]),
      [{ min_cost: 10 }, { max_cost: 10 }],
      [{ min_cost: 5 }, { min_cost: 6 }],
      [{ country: WORD }, { country: 'Cote' }],
      [{ job_title_contains: WORD }, { source_contains: WORD }],
      [{}, { project_id: BETA }],
      [{ call_status: 'done' }, { call_status: 'DONE' }],
    ],
    meaning: { project_id: ALPHA, mine: true },
  },
  {
    name: 'list_projects',
    key: 'projects',
    args: {},
    row: (organization, n, at) => ({
      type: 'project',
      organization,
      id: id(n),
      name: organization,
      created_at: at,
      created_by: ANN,
    }),
    same: [
      [{}, { scope: 'mine', include_archived: false }],
      [{ scope: 'all' }, { include_archived: null, scope: 'all' }],
    ],
    other: [
      [{}, { scope: 'all' }],
      [{ scope: 'all' }, {}],
      [{}, { include_archived: true }],
    ],
    meaning: { mine: true, includeArchived: false },
  },
  {
    name: 'list_entities',
    key: 'entities',
    args: { project_id: ALPHA },
    row: (organization, n, at) => ({
      type: 'entity',
      organization,
      id: id(n),
      project_id: ALPHA,
      name: organization,
      entity_type: 'company',
      created_at: at,
    }),
    same: [
      [{ project_id: ALPHA }, { project_id: ALPHA.toUpperCase() }],
      [{}, { type: null }],
    ],
    other: [
      [{}, { type: 'company' }],
      [{ type: 'company' }, {}],
      [{ type: 'company' }, { type: 'Company' }],
      [{}, { project_id: BETA }],
    ],
    meaning: { projectId: ALPHA },
  },
];

let world: World;
let ann: Tools;
let annElsewhere: Tools;
let bob: Tools;

beforeAll(async () => {
  world = await sharedWorld();
  for (const organization of [ACME, GLOBEX]) {
    const members = [ANN, BOB].map((email) => ({ email, role: 'member' }));
    const project = { type: 'project', organization, name: organization, created_at: time(-1_000), members };
    await world.load([
      { type: 'organization', id: organization, name: organization, tool_rate_limit: { requests: 100_000, period_seconds: 60 } },
      { type: 'user', organization, email: ANN, name: 'Ann' },
      { type: 'user', organization, email: BOB, name: 'Bob' },
    ]);
    // Users have the same ids in both organizations, too.
    await world.query('update auth.users set user_id = md5(email)::uuid where organization = $1', [organization]);
    await world.load([
      { ...project, id: ALPHA },
      { ...project, id: BETA },
      // Four rows share each time, so that a page may end between equal times.
      ...LISTS.flatMap(({ row }) => Array.from({ length: ROWS }, (_, n) => row(organization, 40 + n, time(Math.floor(n / 4))))),
    ]);
  }
  const connect = async (organization: string, email: string) =>
    toolClient(world.stack.addresses.tools, (await bearer(world, organization, email)).slice('Bearer '.length));
  ann = await connect(ACME, ANN);
  annElsewhere = await connect(GLOBEX, ANN);
  bob = await connect(ACME, BOB);
});

const refusal = (answer: Awaited<ReturnType<Tools>>) => [answer.status, answer.error?.code, answer.error?.message];
const REFUSED = [200, 'bad_request', expect.stringMatching(/^cursor: .* Start again without it\.$/)];

describe.each(LISTS)('$name', ({ name, key, args, row, same, other, meaning }) => {
  const page = async (more: object = {}, tools = ann): Promise<{ ids: string[]; next: string | null }> => {
    const { value, error } = await tools(name, { ...args, limit: 3, ...more });
    expect(error).toBeUndefined();
    // The other organization has rows with the same ids, and none of them may appear.
    for (const each of value[key]) expect(each.name).toBe(tools === annElsewhere ? GLOBEX : ACME);
    return { ids: value[key].map((each: { id: string }) => each.id), next: value.next_cursor };
  };
  const cursorOf = async (more: object = {}, tools = ann) => (await page(more, tools)).next!;

  it('has no next page after a last page that is full', async () => {
    for (const limit of [4, 6, ROWS]) {
      const sizes: number[] = [];
      let cursor: string | null = null;
      do {
        const { ids, next } = await page({ limit, cursor });
        sizes.push(ids.length);
        cursor = next;
      } while (cursor !== null);
      expect(sizes).toEqual(Array.from({ length: ROWS / limit }, () => limit));
    }
    expect((await page({ limit: ROWS - 1 })).next).not.toBeNull();
  });

  it.each(same)('accepts a cursor with arguments of the same meaning: %j, %j', async (one, another) => {
    const cursor = await cursorOf(one);
    const expected = await page({ ...one, cursor });
    expect(expected.ids).toHaveLength(3);
    expect((await page({ ...another, cursor })).ids).toEqual(expected.ids);
    expect((await page({ ...another, limit: 2, cursor })).ids).toEqual(expected.ids.slice(0, 2));
    // The default limit exceeds the number of rows left.
    expect((await page({ ...another, limit: undefined, cursor })).ids.slice(0, 3)).toEqual(expected.ids);
  });

  it.each(other)('refuses a cursor with arguments of another meaning: %j, %j', async (one, another) => {
    const cursor = await cursorOf(one);
    expect(refusal(await ann(name, { ...args, ...another, cursor }))).toEqual(REFUSED);
  });

  it('refuses a cursor that was changed, truncated or made up', async () => {
    const cursor = await cursorOf();
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const flipped = (at: number, bit: number) =>
      cursor.slice(0, at) + alphabet[alphabet.indexOf(cursor[at]!) ^ bit] + cursor.slice(at + 1);
    const positions = Array.from({ length: cursor.length }, (_, n) => n).filter((n) => n % 3 === 0 || n > cursor.length - 3);
    const lengths = [0, 1, 15, 16, 37, 38, cursor.length - 2, cursor.length - 1];
    const bad = [
      ...positions.flatMap((at) => [flipped(at, 1), flipped(at, 32)]),
      ...lengths.map((length) => cursor.slice(0, length)),
      ...['A', '=', ' ', '!'].map((more) => cursor + more),
      `${cursor.slice(0, 9)}\n${cursor.slice(9)}`,
      'null',
      '1',
      'ä',
      'A'.repeat(64),
      'A'.repeat(5_000),
    ];
    expect(bad).not.toContain(cursor);
    for (const each of bad) expect(refusal(await ann(name, { ...args, cursor: each })), each).toEqual(REFUSED);
    expect(refusal(await ann(name, { ...args, cursor: 7 }))).toEqual([200, 'bad_request', 'cursor: must be text']);
  });

  it('refuses a cursor of another user or another tool', async () => {
    const cursor = await cursorOf();
    for (const otherClient of [bob, annElsewhere]) expect(refusal(await otherClient(name, { ...args, cursor }))).toEqual(REFUSED);
    expect(refusal(await ann(name, { ...args, cursor: await cursorOf({}, annElsewhere) }))).toEqual(REFUSED);
    for (const elsewhere of LISTS.filter((list) => list.name !== name)) {
      expect(refusal(await ann(elsewhere.name, { ...elsewhere.args, cursor }))).toEqual(REFUSED);
    }
  });

  it('accepts a cursor for seven days, and only one for the same tool, encrypted with its own secret', async () => {
    const { rows } = await world.query('select user_id from auth.users where organization = $1 and email = $2', [ACME, ANN]);
    const call = { organization: ACME, userId: rows[0].user_id };
    const position = { at: new Date(time(1)), id: id(44) };
    const madeBefore = (ms: number, { secret = SECRET, tool = name } = {}) =>
      new PageCursors(new Encrypter(parseSecrets(secret), 'cursors'), tool, call, meaning).make(position, Date.now() - ms);
    const week = 7 * 86_400_000;
    expect((await page({ limit: 4, cursor: madeBefore(week - 60_000) })).ids).toEqual([43, 42, 41, 40].map(id));
    for (const bad of [madeBefore(week + 1), madeBefore(0, { secret: 'x'.repeat(40) }), madeBefore(0, { tool: 'another' })])
      expect(refusal(await ann(name, { ...args, cursor: bad }))).toEqual(REFUSED);
  });

  // This test comes last, because it adds rows.
  it('repeats and omits no row, even if rows are added between pages', async () => {
    const before = (await page({ limit: 100 })).ids;
    expect(before).toHaveLength(ROWS);
    const seen: string[] = [];
    let cursor: string | null = null;
    for (let n = 0; n === 0 || cursor !== null; n++) {
      const { ids, next }: Awaited<ReturnType<typeof page>> = await page({ cursor });
      seen.push(...ids);
      cursor = next;
      if (n >= 4) continue;
      // Rows newer and older than all others, between them, and at equal times with lower and higher ids.
      const added = [-1, 0, 0.5, 1, 1.5, 2, 3].flatMap((at, m) => [60, 1].map((base) => row(ACME, base + 7 * n + m, time(at))));
      await world.load(added.concat(row(GLOBEX, 300 + n, time(0))));
    }
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.filter((each) => before.includes(each))).toEqual(before);
    // Some of the added rows appear, each in its position of the order.
    const after = (await page({ limit: 100 })).ids;
    expect(seen.length).toBeGreaterThan(ROWS);
    expect(seen).toEqual(after.filter((each) => seen.includes(each)));
  });
});
