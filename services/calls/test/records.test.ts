import { exportLines } from '@crs/testing/export';
import { recordSender } from '@crs/testing/put-records';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callLine, sendBatch, tenantRecords } from './_records.ts';

const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];
const MIB = 1024 * 1024;
const NO_INGEST = ': : needs a key with the right ingest';
const NO_DELETE = ': deleted: needs a key with the right delete';
const CREATED = { created_at: '2025-03-01T10:00:00Z' };

type Sender = Awaited<ReturnType<typeof recordSender>>;
let world: World;
let acme: Sender;
let ingest: Sender;
let deletes: Sender;

beforeAll(async () => {
  world = await sharedWorld();
  await world.load([...tenantRecords(ACME), ...tenantRecords(GLOBEX)]);
  acme = await recordSender(world, 'calls', ACME);
  ingest = await recordSender(world, 'calls', ACME, ['ingest']);
  deletes = await recordSender(world, 'calls', ACME, ['delete']);
});
afterAll(() => [acme, ingest, deletes].forEach((each) => each?.close()));

const call = (id: string, fields: object = {}) => callLine(ACME, id, { ...CREATED, ...fields });
const deletion = (id: string) => callLine(ACME, id, { deleted: true });

async function everything(organization: string) {
  const { rows } = await world.query('select * from calls.calls where organization = $1 order by call_id', [organization]);
  return { rows, lines: await exportLines(world.operator, organization) };
}

async function auditOf(sender: Sender) {
  const { rows } = await world.query(
    'select organization, action, outcome, address, count from auth.audit where actor = $1 order by audit_id',
    [await sender.keyId()],
  );
  const sums = new Map<string, number>();
  for (const { action, count } of rows) sums.set(action, (sums.get(action) ?? 0) + count);
  return { rows, sums: Object.fromEntries(sums) };
}

describe('a key stores calls', () => {
  it('and learns which were new, changed and unchanged, while another organization keeps its calls with the same ids', async () => {
    await sendBatch(
      world,
      GLOBEX,
      ['a', 'b'].map((id) => callLine(GLOBEX, id, { ...CREATED, summary: 'Theirs.' })),
    );
    const theirs = await everything(GLOBEX);
    expect(await acme.put([call('a'), call('b'), call('bad', { rating: 9 })])).toEqual({
      accepted: 2,
      unchanged: 0,
      created: 2,
      refused: ['3: rating: must be at most 5'],
    });
    const lines = [call('a'), call('b', { rating: 1 }), deletion('a'), deletion('none'), call('a'), callLine(GLOBEX, 'c')];
    expect(await acme.put(lines)).toEqual({
      accepted: 3,
      unchanged: 2,
      created: 1,
      refused: ['6: organization: must be the organization that the batch is sent for'],
    });
    expect(await everything(GLOBEX)).toEqual(theirs);
    const status = async (organization: string) =>
      (await world.rest('/v1/calls/b', { key: await world.createKey(organization) })).json.summary;
    expect([await status(ACME), await status(GLOBEX)]).toEqual([null, 'Theirs.']);
  });

  it('only with the right to ingest: another key does not learn whether a line is stored', async () => {
    await acme.put([call('stored')]);
    const refused = [`1${NO_INGEST}`, `2${NO_INGEST}`, `3${NO_INGEST}`];
    const lines = [call('stored'), call('other'), callLine(ACME, 'third', { merge: true })];
    expect(await deletes.put(lines)).toEqual({ accepted: 0, unchanged: 0, created: 0, refused });
    expect(await deletes.put([deletion('stored')])).toMatchObject({ accepted: 1, refused: [] });
  });

  it('and deletes them only with the right to delete', async () => {
    await ingest.put([call('kept')]);
    expect(await ingest.put([deletion('kept'), call('kept')])).toEqual({
      accepted: 0,
      unchanged: 1,
      created: 0,
      refused: [`1${NO_DELETE}`],
    });
  });

  it('not with a right to read and write alone', async () => {
    const reader = await recordSender(world, 'calls', ACME, ['read', 'write']);
    await expect(reader.put([call('x')])).rejects.toMatchObject({ kind: 'permission_denied', reason: 'INSUFFICIENT_SCOPE' });
    reader.close();
  });
});

describe.each<[string, object]>([
  ['abort', { abort: true }],
  ['a check', { check: true }],
  ['a check with abort', { check: true, abort: true }],
])('with %s', (name, options) => {
  const lines = () => [call('a', { summary: name }), call('new', { summary: name }), deletion('b')];
  const RELATED = [
    call('a', { conducted_by: 'eve@crs.example' }),
    callLine(ACME, 'nobody', { merge: true }),
    call('a', { rating: 0 }),
  ];

  it.each([0, 1, 2])('a bad line stores nothing (%i)', async (bad) => {
    await acme.put([call('a'), call('b'), deletion('new')]);
    const before = await everything(ACME);
    const response = await acme.put([...lines(), RELATED[bad]!], options);
    expect(response.refused).toHaveLength(1);
    if ('abort' in options) expect(response).toMatchObject({ accepted: 0, unchanged: 0, created: 0 });
    else expect(response).toMatchObject({ accepted: 3, unchanged: 0, created: 1 });
    expect(await everything(ACME)).toEqual(before);
  });

  it('good lines are stored unless it is a check, and the response is the same', async () => {
    await acme.put([call('a'), call('b'), deletion('new')]);
    const before = await everything(ACME);
    expect(await acme.put(lines(), options)).toEqual({ accepted: 3, unchanged: 0, created: 1, refused: [] });
    if ('check' in options) expect(await everything(ACME)).toEqual(before);
    else expect(await everything(ACME)).not.toEqual(before);
    expect((await acme.put(lines())).accepted).toBe('check' in options ? 3 : 0);
  });
});

it('a check takes supposed users and projects for existing, and nothing else does', async () => {
  const projectId = '99999999-2222-4333-8444-555555555555';
  const supposed = { emails: ['New@crs.example'], projectIds: [projectId], billingOffices: [] };
  const line = call('refers', {
    project_id: projectId,
    conducted_by: 'new@crs.example',
    notes: [{ email: 'NEW@crs.example', text: 'x' }],
  });
  expect(await acme.put([line], { check: true, supposed })).toEqual({ accepted: 1, unchanged: 0, created: 1, refused: [] });
  expect(await acme.put([line], { supposed })).toMatchObject({
    accepted: 0,
    refused: ['1: project_id: must be a project of this organization'],
  });
  expect(await acme.put([line], { check: true })).toMatchObject({ accepted: 0 });
});

it('a key may send 1,000 lines and 16 MiB, besides the organization in each line', async () => {
  const line = (length: number) => JSON.stringify(call('long', { summary: '' })).replace('""', `"${'x'.repeat(length)}"`);
  const longest = (more: number) => line(8 * MIB + more - line(0).length);
  expect(await acme.put([longest(257)])).toMatchObject({ accepted: 0, refused: ['1: : must be at most 8 MiB long'] });
  expect(await acme.put([longest(256)])).toMatchObject({ accepted: 1 });
  const rest = (more: number) => line(64 * 1024 - 512 + more - line(0).length);
  const largest = (more: number) => [longest(256), longest(256), rest(more)];
  await expect(acme.put(largest(1))).rejects.toMatchObject({ kind: 'invalid_argument', field: 'lines' });
  expect(await acme.put(largest(0))).toMatchObject({ refused: [] });
  const many = Array.from({ length: 1001 }, (_, i) => deletion(`many-${i}`));
  await expect(acme.put(many)).rejects.toMatchObject({ kind: 'invalid_argument', field: 'lines' });
  expect(await acme.put(many.slice(1))).toMatchObject({ unchanged: 1000 });
  await acme.put([deletion('long')]);
});

it('what a key stores and deletes is audited, a check is not', async () => {
  const sender = await recordSender(world, 'calls', ACME);
  const lines = [
    call('x'),
    call('y'),
    callLine(ACME, 'x', { merge: true, rating: 1 }),
    deletion('x'),
    call('bad', { rating: 0 }),
  ];
  await sender.put(lines, { check: true });
  expect((await auditOf(sender)).rows).toEqual([]);
  await sender.put(lines, { address: '192.0.2.7' });
  await sender.put([call('y'), call('z')], { address: '192.0.2.8' });
  const { rows, sums } = await auditOf(sender);
  expect(sums).toEqual({ 'records.write': 5, 'records.delete': 1 });
  expect(rows[0]).toMatchObject({ organization: ACME, outcome: 'done', address: '192.0.2.7' });
  // One entry a minute for each action; the test may cross a minute.
  expect(rows.length).toBeLessThanOrEqual(3);
  sender.close();
});
