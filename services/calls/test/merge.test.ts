import { exportLines } from '@crs/testing/export';
import { recordSender } from '@crs/testing/put-records';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { normalize, type Properties } from './_merge-oracle.ts';
import { callLine, PROJECT, sendBatch, tenantRecords } from './_records.ts';

const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];
const UNKNOWN = 'id: must be the id of a stored record, because the line is a merge';
const CREATED = '2025-03-01T10:00:00.000Z';
const MIB = 1024 * 1024;

let world: World;
let key: string;
let acme: Awaited<ReturnType<typeof recordSender>>;

beforeAll(async () => {
  world = await sharedWorld();
  await world.load([...tenantRecords(ACME), ...tenantRecords(GLOBEX)]);
  acme = await recordSender(world, 'calls', ACME);
  key = await world.createKey(ACME);
});
afterAll(() => acme?.close());

const merge = (id: string, fields: object, organization = ACME) => callLine(organization, id, { merge: true, ...fields });
const put = (id: string, fields: object, organization = ACME) => callLine(organization, id, { created_at: CREATED, ...fields });

/** The calls as an export writes them, by id. */
async function callsOf(organization: string): Promise<Map<string, Properties>> {
  const lines = (await exportLines(world.operator, organization)) as Properties[];
  return new Map(lines.filter(({ type }) => type === 'call').map((line) => [String(line['id']), line]));
}

/** Up to 1,000 calls whose ids come after this one. */
async function callsAfter(after: string): Promise<Map<string, Properties>> {
  const { exporters, operator } = world.operator;
  const { lines } = await exporters.calls.exportRecords({ type: 'call', after }, await operator(ACME));
  const calls = lines.map((line) => JSON.parse(Buffer.from(line).toString()) as Properties);
  return new Map(calls.map((call) => [String(call['id']), call]));
}

const FULL = {
  project_id: PROJECT,
  conducted_by: 'ann@crs.example',
  summary: 'One.',
  rating: 4,
  expert: { name: 'Eva', bio: 'CFO.' },
  participants: [{ name: 'Ann', role: 'host' }],
  notes: [{ email: 'ann@crs.example', text: 'Mine.' }],
  qa_blocks: [{ question: 'Why?', answer: 'So.' }],
  transcript: [{ speaker: 'Eva', start_seconds: 1, text: 'Hi.' }],
  redacted_transcript: 'Hi.',
};

describe('a merge', () => {
  it('keeps what it leaves out, merges the expert by property, replaces lists, and empties by null', async () => {
    await sendBatch(world, GLOBEX, [put('full', FULL, GLOBEX)]);
    const theirs = await callsOf(GLOBEX);
    await acme.put([put('full', FULL)]);
    const changes = { summary: null, expert: { bio: null, country: 'Chile' }, participants: [{ name: 'Bob' }], rating: 5 };
    expect(await acme.put([merge('full', changes)])).toEqual({ accepted: 1, unchanged: 0, created: 0, refused: [] });
    expect((await callsOf(ACME)).get('full')).toEqual(
      normalize(put('full', { ...FULL, ...changes, expert: { name: 'Eva', country: 'Chile' } })),
    );
    expect(await callsOf(GLOBEX)).toEqual(theirs);
  });

  it('that changes nothing is unchanged, also with null for created_at and false for deleted', async () => {
    await acme.put([put('same', FULL)]);
    const lines = [{}, { created_at: null, deleted: false }, { summary: 'One.', expert: { name: 'Eva' } }, FULL];
    expect(await acme.put(lines.map((fields) => merge('same', fields)))).toMatchObject({ accepted: 0, unchanged: 4 });
  });

  it('of an unknown id, or of one that only another organization has, is refused', async () => {
    await sendBatch(world, GLOBEX, [put('theirs', FULL, GLOBEX)]);
    const lines = [merge('theirs', { summary: 'x' }), merge('nobody', {}), put('fresh', {}), merge('fresh', { rating: 2 })];
    const refused = [`1: ${UNKNOWN}`, `2: ${UNKNOWN}`];
    expect(await acme.put(lines)).toEqual({ accepted: 2, unchanged: 0, created: 1, refused });
    expect((await callsOf(ACME)).get('fresh')).toMatchObject({ rating: 2 });
  });

  it.each<[string, object, string]>([
    ['an unknown property', { title: 'x' }, 'title: is not a known property'],
    ['a bad value', { rating: 6 }, 'rating: must be at most 5'],
    ['a property that no call has', { expert: { title: 'x' } }, 'expert.title: is not a known property'],
    ['an unknown user', { conducted_by: 'eve@crs.example' }, 'conducted_by: must be the e-mail of a user of this organization'],
    ['a deletion', { deleted: true }, 'deleted: must not be true, because the line is a merge'],
    ['merge as text', { merge: 'yes' }, 'merge: must be true or false'],
    [
      'two notes of a user',
      { notes: [{ email: 'a@b' }, { email: 'A@b' }] },
      'notes[1].email: must not repeat: a user has one note',
    ],
  ])('with %s is refused by the validator of whole lines', async (_, fields, reason) => {
    await acme.put([put('bad', FULL)]);
    const { refused } = await acme.put([merge('bad', fields)]);
    expect(refused).toEqual([expect.stringContaining(`1: ${reason}`)]);
    expect((await callsOf(ACME)).get('bad')).toEqual(normalize(put('bad', FULL)));
  });

  it('of operators works the same', async () => {
    await sendBatch(world, ACME, [put('operator', FULL)]);
    expect(await sendBatch(world, ACME, [merge('operator', { rating: 1 }), merge('none', {})])).toEqual({
      accepted: 1,
      unchanged: 0,
      refused: [`2: ${UNKNOWN}`],
    });
  });

  it('is not taken for the whole line that was stored before it', async () => {
    const line = put('hash', FULL);
    await acme.put([line]);
    await acme.put([merge('hash', { rating: 1 })]);
    expect(await acme.put([line])).toMatchObject({ accepted: 1, unchanged: 0 });
    expect((await callsOf(ACME)).get('hash')).toMatchObject({ rating: 4 });
    await acme.put([merge('hash', { rating: 1 }), merge('hash', { rating: 4 })]);
    expect(await acme.put([line])).toMatchObject({ accepted: 0, unchanged: 1 });
  });

  it('may be of a call of almost 8 MiB, but not make it longer than that', async () => {
    await acme.put([put('long', { summary: 'x'.repeat(7 * MIB) })]);
    expect(await acme.put([merge('long', { rating: 3 })])).toMatchObject({ accepted: 1, refused: [] });
    const { refused } = await acme.put([merge('long', { transcript: 'x'.repeat(MIB) })]);
    expect(refused).toEqual(['1: : must be at most 8 MiB long after the merge']);
    await acme.put([callLine(ACME, 'long', { deleted: true })]);
  });
});

it('concurrent merges of different properties all win, and the last commit of one property', async () => {
  await acme.put([put('race', FULL)]);
  const fields = ['summary', 'segment', 'source', 'ktas', 'language'];
  const produce = async (field: string) => {
    for (let n = 1; n <= 4; n++) await acme.put([merge('race', { [field]: `${field} ${n}`, anonymized_name: `${field} ${n}` })]);
  };
  await Promise.all(fields.map(produce));
  const call = (await callsOf(ACME)).get('race')!;
  expect(call).toMatchObject(Object.fromEntries(fields.map((field) => [field, `${field} 4`])));
  // The last commit is the last one of its producer, too.
  expect(fields.map((field) => `${field} 4`)).toContain(call['anonymized_name']);
});

it('a batch with several lines of a call moves it once in the feed', async () => {
  const { json } = await world.rest('/v1/changes?limit=1000', { key });
  const lines = [put('fed', {}), merge('fed', { rating: 1 }), merge('fed', { rating: 2 }), put('brief', {}), merge('brief', {})];
  await acme.put([...lines, callLine(ACME, 'brief', { deleted: true }), put('brief', {}), merge('brief', { rating: 3 })]);
  await acme.put([put('gone', {}), merge('gone', { rating: 1 }), callLine(ACME, 'gone', { deleted: true })]);
  const next = await world.rest(`/v1/changes?cursor=${json.next_cursor}`, { key });
  const changes = next.json.data.map(({ type, call_id: id }: Record<string, string>) => `${type} ${id}`);
  expect(changes.toSorted()).toEqual(['call.changed brief', 'call.changed fed']);
  expect((await world.rest('/v1/calls/fed', { key })).json).toMatchObject({ rating: 2 });
  expect((await world.rest('/v1/calls/fed', { key: await world.createKey(GLOBEX) })).status).toBe(404);
});

const text = fc.constantFrom('', 'one', 'tab\t"two" \\', '👩‍👧 é');
const nullable = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null });
const fields = fc.record(
  {
    summary: nullable(text),
    rating: nullable(fc.integer({ min: 1, max: 5 })),
    call_type: nullable(fc.constantFrom('meeting', 'interview')),
    project_id: nullable(fc.constant(PROJECT)),
    conducted_by: nullable(fc.constant('ann@crs.example')),
    created_at: nullable(fc.constantFrom(CREATED, '2025-03-02T00:00:00.123Z')),
    expert: nullable(fc.record({ name: nullable(text), bio: nullable(text) }, { requiredKeys: [] })),
    participants: nullable(fc.array(fc.record({ name: nullable(text), role: nullable(text) }), { maxLength: 2 })),
    qa_blocks: nullable(fc.array(fc.record({ question: nullable(text), answer: text }), { maxLength: 2 })),
    notes: nullable(fc.subarray(['ann', 'bob'].map((name) => ({ email: `${name}@crs.example`, text: name })))),
    transcript: nullable(fc.oneof(text, fc.array(fc.record({ speaker: nullable(text), text }), { maxLength: 2 }))),
  },
  { requiredKeys: [] },
);
const line = fc.record({
  id: fc.constantFrom('a', 'b'),
  kind: fc.constantFrom('merge', 'merge', 'merge', 'put', 'delete'),
  fields,
});
type Line = { id: string; kind: string; fields: Properties };

/** What a line must do, by the rules of RFC 7396 with the defaults of an import. @param calls the calls before and after it */
function apply(calls: Map<string, Properties>, { id, kind, fields: changes }: Line): string {
  const before = calls.get(id);
  if (kind === 'delete') return calls.delete(id) ? 'accepted' : 'unchanged';
  if (kind === 'merge' && !before) return 'refused';
  const base = kind === 'merge' ? before! : put(id, {});
  const { created_at: createdAt = null, expert, ...rest } = changes;
  const merged = { ...base, ...rest, created_at: createdAt ?? base['created_at'] };
  const after = normalize({
    ...merged,
    expert: expert === null ? null : { ...(base['expert'] as object), ...(expert as object) },
  });
  calls.set(id, after);
  return JSON.stringify(before) === JSON.stringify(after) ? 'unchanged' : 'accepted';
}

it('any sequence of lines leaves the calls that RFC 7396 gives', async () => {
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(line, { minLength: 1, maxLength: 12 }), fc.array(line, { maxLength: 4 }), async (first, second) => {
      const prefix = `random-${String(run++).padStart(4, '0')}-`;
      const expected = new Map<string, Properties>();
      for (const batch of [first, second]) {
        const lines = batch.map((each): Line => ({ ...each, id: prefix + each.id }));
        const { refused, ...counts } = await acme.put(
          lines.map(({ id, kind, fields: changes }) => {
            if (kind === 'delete') return callLine(ACME, id, { deleted: true });
            return kind === 'merge' ? merge(id, changes) : put(id, { ...changes, created_at: changes['created_at'] ?? CREATED });
          }),
        );
        const outcomes = lines.map((each) => apply(expected, each));
        const count = (outcome: string) => outcomes.filter((each) => each === outcome).length;
        expect({ ...counts, refused: refused.length }).toMatchObject({
          accepted: count('accepted'),
          unchanged: count('unchanged'),
          refused: count('refused'),
        });
        const stored = await callsAfter(prefix);
        for (const id of ['a', 'b']) expect(stored.get(prefix + id)).toEqual(expected.get(prefix + id));
      }
    }),
    { numRuns: 30 },
  );
});
