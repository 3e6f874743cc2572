import { readdirSync, readFileSync } from 'node:fs';
import { Database, type Statement } from '@crs/kit/data/database';
import { credentialScope, directoryScope, workFor } from '@crs/kit/data/scope';
import { createLogger } from '@crs/kit/process/log';
import { interceptStatements, type SentStatement } from '@crs/testing/intercept-statements';
import { openSession, type Session } from '@crs/testing/sql';
import { startWorld, type OwnWorld } from '@crs/testing/world';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { exportCalls } from '../src/store/export-calls.ts';
import { getUserCall } from '../src/store/get-user-call.ts';
import { listUserCalls } from '../src/store/list-user-calls.ts';
import { ensureNameSecret } from '../src/store/name-secrets.ts';
import { projectSegments } from '../src/store/project-segments.ts';
import { serviceDatabaseUrl } from './_clients.ts';
import { callLine, PROJECT, sendBatch, tenantRecords as tenant } from './_records.ts';

/** These statements have no predicate on the organization: they insert rows of it, or make temporary tables. */
const WITHOUT_PREDICATE =
  /^(upsert_calls|insert_(notes|name_secret)|open_call_days|take_places|put_changes|begin_feed|stage_\w+)$/;
const INSERTS = ['upsert_calls', 'insert_notes', 'open_call_days', 'take_places', 'put_changes', 'insert_name_secret'];
const TABLES = ['calls', 'notes', 'call_days', 'name_secrets', 'feeds', 'changes'];
const PAIRS = [
  ['acme', 'globex'],
  ['globex', 'acme'],
] as const;
const SAME = ['same-1', 'same-2', 'same-3', 'same-4', 'same-5'];

/** The names of the statements sent to tables of calls, with whether every predicate on the organization was removed. */
const sent = new Map<string, boolean>();
/** The declared name of a dynamic statement, which is sent without a name as its text varies. */
let dynamic: string | undefined;
/** The insert that is sent with the id of another organization. */
let forged: { name: string; as: string } | undefined;

function withoutPredicate(statement: SentStatement): SentStatement {
  const { name = dynamic ?? 'unnamed', text, values = [] } = statement;
  // Statements on other tables stay unchanged, as do those on the table of migrations, which has no organization.
  if (!/\bcalls"?\."?(?!migrations\b)\w/.test(text)) return statement;
  const rewritten = text.replaceAll(
    /("?\w+"?\.)?"?organization"? = (\$\d+)\b/g,
    (_match, _table, value) => `(${value}::text is not null)`,
  );
  sent.set(name, rewritten !== text && !/organization"?\s*=/.test(rewritten));
  return { ...statement, text: rewritten, values: forged?.name === name ? [forged.as, ...values.slice(1)] : values };
}

let stopIntercepting: () => void;
let world: OwnWorld;
let superuser: Session;
/** Connected with the role of the service. */
let database: Database;
const keys = new Map<string, string>();

beforeAll(async () => {
  stopIntercepting = interceptStatements(withoutPredicate);
  world = await startWorld();
  superuser = await openSession(world.databaseUrl);
  const log = createLogger('test', { level: 'silent' });
  database = new Database({ name: 'test', url: serviceDatabaseUrl(world), maxConnections: 2, log, pipeline: true });
  for (const [id] of PAIRS) {
    await world.load(tenant(id, { anonymize_interviewees: true }));
    keys.set(id, await world.createKey(id));
  }
});
afterAll(async () => {
  stopIntercepting?.();
  await database?.close();
  await superuser?.close();
  await world?.close();
});

const call = (organization: string, id: string, text = organization) =>
  callLine(organization, id, {
    created_at: `2025-03-0${id.at(-1)}T10:00:00Z`,
    segment: text,
    project_id: id === 'same-4' ? PROJECT : null,
    conducted_by: 'ann@crs.example',
    expert: { name: 'Eva Muster' },
    transcript: text,
    redacted_transcript: [{ text }],
    notes: [{ email: 'ann@crs.example', text }],
  });
const only = (organization: string) => `only-${organization}-9`;

const store = (organization: string) =>
  sendBatch(
    world,
    organization,
    [...SAME, only(organization)].map((id) => call(organization, id)),
  );

beforeEach(async () => {
  await superuser.query('truncate calls.calls, calls.call_days, calls.changes, calls.feeds cascade');
  for (const [id] of PAIRS) await store(id);
});
afterEach(() => {
  forged = undefined;
});

const scopeOf = (organization: string) => credentialScope(organization, workFor(5_000));

async function everything(organization: string): Promise<unknown[][]> {
  const stored = [];
  for (const table of TABLES) {
    stored.push(await superuser.query(`select * from calls.${table} t where organization = $1 order by t::text`, [organization]));
  }
  return stored;
}

/** The id of ann in the organization. A user id exists in one organization only, so leaks are tried with a user of the other. */
async function userOf(organization: string): Promise<string> {
  const users = await superuser.query<{ id: string }>(
    `select user_id as id from auth.users where name = 'ann' and organization = $1`,
    [organization],
  );
  return users[0]!.id;
}

async function read<Row>(organization: string, statement: Statement<Row>): Promise<Row[]> {
  dynamic = statement.dynamic ? statement.name : undefined;
  try {
    return await database.read(scopeOf(organization), statement);
  } finally {
    dynamic = undefined;
  }
}

/** Reads from `own` with a user of `other`, who may see only the project, which has the same id in both. */
async function leaksToUser(own: string, other: string): Promise<string[]> {
  const stranger = await userOf(other);
  const found: string[] = [];
  const query = { userId: stranger, mine: false, visible: [PROJECT], filters: {}, after: null, limit: 100 };
  const list = await read(own, listUserCalls(own, query));
  if (list.length !== 1 || list[0]?.segment !== own) found.push('user list');
  for (const after of [null, { at: new Date('2030-01-01Z'), id: 'z' }]) {
    const conducted = await read(own, listUserCalls(own, { ...query, mine: true, after }));
    if (conducted.length > 0) found.push(after ? 'later conducted list' : 'conducted list');
  }
  const [detail] = await read(own, getUserCall(own, stranger, [PROJECT], 'same-4', true)).catch(() => []);
  if (detail?.segment !== own || detail.verbatim !== JSON.stringify(own) || detail.notes !== null) found.push('user detail');
  const segments = await read(own, projectSegments(own, [PROJECT]));
  if (segments.length !== 1 || segments[0]?.segments.join() !== own) found.push('segments');
  return found;
}

function nameSecretOf(organization: string): Promise<Buffer> {
  return database.transact(scopeOf(organization), (query) => ensureNameSecret(query, organization));
}

/** Runs every operation on the tables. @returns the operations that read or changed rows of another organization */
async function leaks(): Promise<Set<string>> {
  const found = new Set<string>();
  const names: string[] = [];
  let foreignCursor = 'AAAA';
  for (const [own] of PAIRS) await nameSecretOf(own);
  for (const [own] of PAIRS) {
    const [stored] = await superuser.query<{ secret: Buffer }>('select secret from calls.name_secrets where organization = $1', [
      own,
    ]);
    if (!stored?.secret.equals(await nameSecretOf(own))) found.add('name secret');
  }
  for (const [own, other] of PAIRS) {
    const get = (path: string) => world.rest(path, { key: keys.get(own) });
    const range = '/v1/calls?start_date=2025-01-01T00:00:00Z&end_date=2026-01-01T00:00:00Z';
    for (const [way, query] of [
      ['first page', '&per_page=200'],
      ['later page', '&per_page=2&page=2'],
      ['changed page', '&updated_since=2025-01-01T00:00:00Z&per_page=4&page=1'],
      ['page of details', '&expand=detail'],
      ['changed page of details', '&expand=detail&updated_since=2025-01-01T00:00:00Z'],
    ] as const) {
      const { json } = await get(range + query);
      const clean = json?.pagination?.total_items === 6 && json.data.every((it: { segment: string }) => it.segment === own);
      if (!clean) found.add(way);
    }

    if ((await get(`/v1/changes?cursor=${foreignCursor}`)).status !== 400) found.add('feed');
    let ownCursor = '';
    for (const [way, query] of [
      ['feed', 'limit=1000'],
      ['feed with details', 'limit=50&expand=detail'],
    ] as const) {
      const first = await get(`/v1/changes?${query}`);
      const next = await get(`/v1/changes?${query}&cursor=${first.json.next_cursor}`);
      const ids = first.json.data?.map((it: { call_id: string }) => it.call_id).toSorted();
      const clean = [...SAME, only(own)].toSorted().join() === ids?.join() && !first.text.includes(other);
      if (!clean || next.json.data?.length !== 0) found.add(way);
      ownCursor = next.json.next_cursor;
    }

    foreignCursor = ownCursor;

    const exported = await read(own, exportCalls(own, ''));
    if (exported.length !== SAME.length + 1 || JSON.stringify(exported).includes(other)) found.add('export');

    for (const id of SAME) {
      const { text, json } = await get(`/v1/calls/${id}`);
      if (text.includes(other) || json.transcripts?.length !== 1) found.add('detail');
      names.push(json.interviewee?.name);
    }
    if ((await get(`/v1/calls/${only(other)}`)).status !== 404) found.add('detail');

    for (const way of await leaksToUser(own, other)) found.add(way);

    const before = JSON.stringify(await everything(other));
    const lines = [
      call(own, 'same-1', `${own} again`),
      callLine(own, 'same-2', { deleted: true }),
      { ...call(own, 'same-3'), created_at: '2025-03-04T10:00:00Z' },
      callLine(own, only(other), { deleted: true }),
      call(own, 'new-1'),
    ];
    const answer = await sendBatch(world, own, lines).catch(() => undefined);
    if (answer?.accepted !== 4 || answer.unchanged !== 1) found.add('import');
    if (JSON.stringify(await everything(other)) !== before) found.add('import');

    for (const target of [
      { $case: 'userId', value: await userOf(other) },
      { $case: 'projectId', value: PROJECT },
      { $case: 'organization', value: true },
    ] as const) {
      await world.operator.erasers.calls.erase({ target }, await world.operator.operator(own)).catch(() => found.add('erasure'));
      if (JSON.stringify(await everything(other)) !== before) found.add('erasure');
    }
    // The feed begins with the first question, too.
    if ((await get('/v1/changes')).json.data?.length !== 0) found.add('feed');
    // The other organization's turn needs the first state.
    await store(own);
  }
  if (new Set(names).size !== PAIRS.length) found.add('names');
  return found;
}

describe('without the predicate on the organization in any statement', () => {
  it('no operation reads or changes rows of another organization', async () => {
    expect(await leaks()).toEqual(new Set());
  });

  it('every statement of the service was sent', async () => {
    const folder = new URL('../src/store/', import.meta.url);
    const sources = readdirSync(folder).map((file) => readFileSync(new URL(file, folder), 'utf8'));
    const declared = sources.flatMap((source) =>
      [...source.matchAll(/(?:\bname: |\bbuilt\()(['`])(.+?)\1/g)].map(([, , name]) => name!),
    );
    expect(declared.length).toBeGreaterThan(15);
    await leaks();
    const patterns = declared.map((name) => new RegExp(`^${name.replaceAll(/\$\{\w+\}/g, '\\w+')}$`));
    // These two name no table.
    for (const pattern of patterns.filter((it) => !it.test('discard_plans') && !it.test('limit_lock_wait'))) {
      const matching = [...sent].filter(([name]) => pattern.test(name));
      expect(matching, `${pattern} was sent`).not.toEqual([]);
      for (const [name, rewritten] of matching) expect(rewritten, `${name} was rewritten`).toBe(!WITHOUT_PREDICATE.test(name));
    }
    const others = [...sent.keys()].filter((name) => !patterns.some((pattern) => pattern.test(name)));
    expect(others.filter((name) => name !== 'lock_imports')).toEqual([]);
  });

  it.each([
    [
      'calls',
      [
        'first page',
        'later page',
        'changed page',
        'detail',
        'user list',
        'conducted list',
        'later conducted list',
        'user detail',
        'segments',
        'import',
        'erasure',
      ],
    ],
    ['notes', ['user detail', 'import', 'erasure']],
    ['call_days', ['first page', 'later page', 'import', 'erasure']],
    ['name_secrets', ['name secret', 'detail', 'erasure']],
    ['feeds', ['feed', 'feed with details', 'erasure']],
    ['changes', ['feed', 'feed with details', 'erasure']],
  ])('the operations leak once row-level security of %s is off', async (table, ways) => {
    await superuser.query(`alter table calls.${table} disable row level security`);
    try {
      expect([...(await leaks())]).toEqual(expect.arrayContaining(ways));
    } finally {
      await superuser.query(`alter table calls.${table} enable row level security`);
    }
  });
});

describe('with the id of another organization', () => {
  it.each(INSERTS)('%s writes nothing', async (name) => {
    const before = [await everything('acme'), await everything('globex')];
    forged = { name, as: 'globex' };
    const write =
      name === 'insert_name_secret'
        ? nameSecretOf('acme')
        : sendBatch(world, 'acme', [call('acme', 'same-1', 'forged'), call('acme', 'new-8')]);
    await expect(write).rejects.toThrow(name === 'insert_name_secret' ? /row-level security/ : 'An unexpected error occurred.');
    expect([await everything('acme'), await everything('globex')]).toEqual(before);
  });
});

describe('row-level security', () => {
  it('shows nothing without an organization in the scope', async () => {
    for (const table of TABLES) {
      expect(
        await database.read(directoryScope(workFor(5_000)), {
          name: `all_${table}`,
          text: `select organization from calls.${table}`,
        }),
      ).toEqual([]);
    }
  });

  it('is forced on every table of the schema, and the service can not bypass it', async () => {
    const walls = await superuser.query(
      `select relname as table, relrowsecurity and relforcerowsecurity as forced from pg_class
        where relnamespace = 'calls'::regnamespace and relkind in ('r', 'p') and relname not like 'migrations%' order by 1`,
    );
    expect(walls).toEqual(TABLES.toSorted().map((table) => ({ table, forced: true })));
    const [role] = await superuser.query(
      `select rolsuper or rolbypassrls or exists (select from pg_class where relowner = r.oid and relnamespace = 'calls'::regnamespace) as above
        from pg_roles r where rolname = 'crs_calls'`,
    );
    expect(role).toEqual({ above: false });
  });
});
