import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startWorld, type OwnWorld } from '@crs/testing/world';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { checker } from '../src/import/check.ts';
import { run } from '../src/import/run.ts';
import { sender } from '../src/import/send.ts';
import { retrying } from '../src/retry.ts';
import { records, startImport } from './_import-world.ts';

interface Summary {
  lines: number;
  accepted: number;
  unchanged: number;
  refused: number;
  errors: { line: number; field: string | null; reason: string }[];
}

let world: OwnWorld;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.close());
beforeEach(async () => {
  await query('truncate calls.calls, calls.call_days, entities.entities, projects.projects, projects.billing_offices cascade');
  for (const service of ['calls', 'projects', 'entities']) await query(`truncate ${service}.changes, ${service}.feeds`);
  await query('delete from auth.organizations');
});

const query = async <Row>(text: string) => (await world.query(text)).rows as Row[];

/** Runs `crs import`, or `crs import --check`, in this process. */
async function crs(lines: (object | string)[], isCheck: boolean): Promise<Summary> {
  const text = lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join('');
  const errors: Summary['errors'] = [];
  const send = isCheck ? checker(world.operator, retrying) : retrying(sender(world.operator));
  const observer = { progress: () => undefined, refused: (refusal: Summary['errors'][number]) => void errors.push(refusal) };
  const { lines: count, accepted, unchanged, refused } = await run(chunks(text), send, observer);
  return { lines: count, accepted, unchanged, refused, errors };
}
async function* chunks(text: string) {
  yield Buffer.from(text);
}
const check = (lines: (object | string)[]) => crs(lines, true);
const load = (lines: (object | string)[]) => crs(lines, false);

/** Every row of every table except the audit trail, sign-in state and signing keys, which change without an import. */
async function everything(): Promise<Record<string, string[]>> {
  const tables = await query<{ name: string }>(
    `select schemaname || '.' || tablename as name from pg_tables where schemaname in ('auth', 'calls', 'entities', 'projects', 'webhooks')
      and tablename not in ('audit', 'throttles', 'caller_keys', 'token_keys')`,
  );
  const rows: Record<string, string[]> = {};
  for (const { name } of tables) {
    // xmin is the row's last transaction, so this also shows a change that was undone.
    const found = await query<{ row: string }>(`select xmin::text || ' ' || to_jsonb(t)::text as row from ${name} t`);
    rows[name] = found.map(({ row }) => row).toSorted();
  }
  return rows;
}
const trail = () =>
  query<{ action: string; organization: string; target: string; entries: number; count: number }>(
    `select action, organization, target, count(*)::int as entries, sum(count)::int as count from auth.audit
      group by 1, 2, 3 order by 1, 2, 3`,
  );

const uuid = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const acme = (type: string, fields: object) => ({ type, organization: 'acme', ...fields });
const ACME = { type: 'organization', id: 'acme', name: 'Acme Corporation of Zanzibar' };
const user = (email: string, fields: object = {}) => acme('user', { email, ...fields });
const project = (n: number, fields: object = {}) => acme('project', { id: uuid(n), ...fields });
const call = (id: string, fields: object = {}) => acme('call', { id, created_at: '2026-01-01T00:00:00Z', ...fields });

/** Lines with every error that depends on other lines or on stored rows, and with some that don't. */
const FAULTS: (object | string)[] = [
  call('early'),
  ACME,
  'not JSON',
  { type: 'frog', organization: 'acme' },
  user('ann@acme.example', { password: 'a long and odd passphrase 7319' }),
  user('bob@acme.example', { password: 'aaaaaaaaaaaa' }),
  user('nobody'),
  project(1, { created_by: 'ANN@acme.example', billing_office_name: 'London' }),
  acme('billing_office', { name: 'London' }),
  project(1, { created_by: 'ANN@acme.example', billing_office_name: 'London', members: [{ email: 'bob@acme.example' }] }),
  project(1, { billing_office_name: 'London', members: [{ email: 'Ann@acme.example', role: 'lead' }] }),
  project(2, { billing_office_name: 'Paris' }),
  call('a', { project_id: uuid(1), conducted_by: 'ann@ACME.example', notes: [{ email: 'ann@acme.example', text: 'x' }] }),
  call('b', { project_id: uuid(2) }),
  call('c', { conducted_by: 'bob@acme.example' }),
  call('d', { notes: [{ email: 'eve@acme.example', text: 'x' }] }),
  call('e', { rating: 9 }),
  call('x', { deleted: true }),
  acme('entity', { id: uuid(3), project_id: uuid(1) }),
  acme('entity', { id: uuid(4), project_id: uuid(2) }),
  project(1, { deleted: true }),
  project(7, { deleted: true, name: 'no' }),
  call('f', { project_id: uuid(1) }),
  acme('entity', { id: uuid(5), project_id: uuid(1) }),
  project(1),
  call('g', { project_id: uuid(1) }),
  user('ann@acme.example', { deleted: true }),
  call('h', { conducted_by: 'ann@acme.example' }),
  project(3, { members: [{ email: 'ann@acme.example' }] }),
  { type: 'user', organization: 'globex', email: 'gil@globex.example' },
];

describe('a check reports the errors that an import of the same lines then reports', { timeout: 120_000 }, () => {
  it.each([
    ['into an installation without records', []],
    [
      'into an installation with some of the same records',
      [
        ACME,
        user('ann@acme.example', { password: 'another long passphrase 9482' }),
        user('bob@acme.example'),
        project(1, { created_by: 'ann@acme.example' }),
        call('f', { project_id: uuid(1) }),
        call('h', { conducted_by: 'ann@acme.example' }),
      ],
    ],
  ])('%s', async (_case, before) => {
    if (before.length > 0) expect(await load(before)).toMatchObject({ refused: 0 });
    const rows = await everything();
    const checked = await check(FAULTS);
    expect(await everything()).toEqual(rows);
    const imported = await load(FAULTS);
    expect(checked.errors).toEqual(imported.errors);
    expect(checked).toMatchObject({ lines: imported.lines, refused: imported.refused });
    expect(imported.errors.length).toBeGreaterThan(14);
  });

  it('with references to users and projects whose deletion was interrupted', async () => {
    await load([ACME, user('ann@acme.example'), project(1)]);
    await query('update auth.users set erasing_at = now()');
    await query('update auth.projects set erasing_at = now()');
    const lines = [call('a', { project_id: uuid(1) }), call('b', { conducted_by: 'ann@acme.example' })];
    const { errors } = await check(lines);
    expect(errors.map(({ line, field }) => [line, field])).toEqual([
      [1, 'project_id'],
      [2, 'conducted_by'],
    ]);
    expect((await load(lines)).errors).toEqual(errors);
  });

  it('with more references than one request holds', async () => {
    const notes = Array.from({ length: 900 }, (_, n) => ({ email: `n${n}@acme.example`, text: 'x' }));
    const users = notes.slice(1).map(({ email }) => user(email));
    const more = (letter: string) => notes.map(({ email, text }) => ({ email: `${letter}${email}`, text }));
    const lines = [ACME, ...users, call('a', { notes: notes.slice(1) }), call('b', { notes }), call('c', { notes: more('x') })];
    lines.push(call('d', { notes: more('y') }), call('e', { notes: more('z') }));
    const { errors } = await check(lines);
    expect(errors.map(({ line }) => line)).toEqual([902, 903, 904, 905]);
    expect((await load(lines)).errors).toEqual(errors);
    expect((await check(lines)).errors).toEqual(errors);
  });

  it('for a large valid file with every type in many batches: none, both before and after it is stored', async () => {
    const lines = records();
    const first = await check(lines);
    expect(first).toMatchObject({ lines: lines.length, refused: 0, errors: [] });
    await load(lines);
    const rows = await everything();
    expect(await check(lines)).toMatchObject({ lines: lines.length, refused: 0, errors: [] });
    expect(await everything()).toEqual(rows);
  });
});

it('the command prints the summary and exits with the status that an import would, but stores nothing', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'crs-check-'));
  const file = join(dir, 'records.ndjson');
  await writeFile(file, `${JSON.stringify(ACME)}\n${JSON.stringify(user('nobody'))}\n`);
  const rows = await everything();
  const { status, stdout, stderr } = await startImport(file, { admin: world.operator.config.addresses }, {}, ['--check']).ended;
  const errors = [{ line: 2, field: 'email', reason: 'must be an e-mail address of 3 to 254 characters' }];
  expect({ status, stderr, ...(JSON.parse(stdout) as Summary) }).toEqual({
    status: 1,
    stderr: '',
    ...{ lines: 2, accepted: 1, unchanged: 0, refused: 1, errors },
  });
  expect(await everything()).toEqual(rows);
  await rm(dir, { recursive: true });
});

it('a check counts a good line as accepted, whether or not it is already stored', async () => {
  const lines = [
    ACME,
    user('ann@acme.example'),
    project(1, { created_by: 'ann@acme.example' }),
    call('a', { project_id: uuid(1) }),
  ];
  expect(await check(lines)).toMatchObject({ accepted: 4, unchanged: 0 });
  await load(lines);
  expect(await check([...lines.slice(1), call('b')])).toMatchObject({ accepted: 4, unchanged: 0 });
});

it('a check misses what only an import can find: passwords that repeat a name of the file, and records whose deletion was interrupted', async () => {
  await load([{ type: 'organization', id: 'acme' }, user('ann@acme.example'), project(1)]);
  await query('update auth.users set erasing_at = now()');
  await query('update auth.projects set erasing_at = now()');
  const lines = [ACME, user('bob@acme.example', { password: ACME.name }), user('ann@acme.example'), project(1)];
  expect(await check(lines)).toMatchObject({ refused: 0 });
  expect((await load(lines)).errors.map(({ line, field }) => [line, field])).toEqual([
    [2, 'password'],
    [3, 'email'],
    [4, 'id'],
  ]);
});

it('a check validates the properties of merges, but misses that their records do not exist', async () => {
  const lines = [
    ACME,
    project(1, { name: 'One' }),
    project(1, { merge: true, summary: 'Short.' }),
    project(2, { merge: true, name: 'x' }),
    call('a', { project_id: uuid(1) }),
    acme('call', { id: 'a', merge: true, rating: 4 }),
    acme('call', { id: 'a', merge: true, rating: 9 }),
    acme('call', { id: 'a', merge: true, project_id: uuid(2) }),
    acme('entity', { id: uuid(3), merge: true, name: 'x' }),
  ];
  const fields = ({ errors }: Summary) => errors.map(({ line, field }) => [line, field]);
  const found = [
    [7, 'rating'],
    [8, 'project_id'],
  ];
  expect(fields(await check(lines))).toEqual(found);
  expect(fields(await load(lines))).toEqual([[4, 'id'], ...found, [9, 'id']]);
  expect(await query('select name, summary from projects.projects')).toEqual([{ name: 'One', summary: 'Short.' }]);
  expect(await query('select rating from calls.calls')).toEqual([{ rating: 4 }]);
});

it('a check adds one entry to the audit trail for all of its batches of an organization in a minute', async () => {
  // An organization of its own, as entries of the same minute are counted together.
  await load([{ type: 'organization', id: 'audited' }]);
  const before = await trail();
  const entity = acme('entity', { id: uuid(3), project_id: uuid(1) });
  const lines = [ACME, user('ann@acme.example'), project(1), call('a', { conducted_by: 'bob@acme.example' }), entity];
  await check(lines.map((line) => ('organization' in line ? { ...line, organization: 'audited' } : { ...line, id: 'audited' })));
  const added = { action: 'import.check', organization: 'audited', target: '', count: 6 };
  const earlier = before.map((entry) => JSON.stringify(entry));
  const after = (await trail()).filter((entry) => !earlier.includes(JSON.stringify(entry)));
  // Five batches, and a request that looks the user up. There are two entries if a new minute began meanwhile.
  expect(after).toEqual([{ ...added, entries: expect.toSatisfy((n: number) => n <= 2) as unknown }]);
});
