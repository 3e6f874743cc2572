import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { beforeAll, describe, expect, it } from 'vitest';
import { callLine, PROJECT, sendBatch, tenantRecords, type BatchLine } from './_records.ts';

const [ACME, GLOBEX, NOWHERE] = [tenant('acme'), tenant('globex'), tenant('nowhere')];

/** A project and a user that exist only in globex. */
const THEIR_PROJECT = '99999999-2222-4333-8444-555555555555';
const THEIR_USER = 'eve@globex.example';

let world: World;
let key: string;

beforeAll(async () => {
  world = await sharedWorld();
  await world.load([
    ...tenantRecords(ACME),
    ...tenantRecords(GLOBEX),
    { type: 'project', organization: GLOBEX, id: THEIR_PROJECT, name: 'Theirs' },
    { type: 'user', organization: GLOBEX, email: THEIR_USER },
    callLine(GLOBEX, 'theirs', { project_id: THEIR_PROJECT, conducted_by: THEIR_USER }),
    callLine(GLOBEX, 'kept', { rating: 3 }),
  ]);
  key = await world.createKey(ACME);
});

async function storedIds(organization = ACME): Promise<string[]> {
  const { rows } = await world.query('select call_id as id from calls.calls where organization = $1 order by 1', [organization]);
  return rows.map(({ id }) => id);
}

const bad = (fields: object): BatchLine => callLine(ACME, 'bad', fields);
const note = (email: unknown) => ({ email, text: 'x' });
const E_MAIL = 'must be the e-mail of a user of this organization';

const BAD: Record<string, [BatchLine, string]> = {
  'not JSON': ['{"type":"call"', ': must be valid JSON'],
  'two values': ['{} {}', ': must be valid JSON'],
  'an empty line': ['', ': must be valid JSON'],
  'a list': ['[]', ': must be a JSON object'],
  null: ['null', ': must be a JSON object'],
  'Latin-1': [
    Buffer.from(`{"type":"call","organization":"${ACME}","id":"bad","source":"caf\u00e9"}`, 'latin1'),
    ': must be valid UTF-8',
  ],
  'UTF-16': [Buffer.from('\ufeff{"type":"call"}', 'utf16le'), ': must be valid UTF-8'],
  'another type': [{ type: 'project', organization: ACME, id: PROJECT }, 'type: must be call'],
  'no type': [{ organization: ACME, id: 'bad' }, 'type: is required'],
  'no id': [{ type: 'call', organization: ACME }, 'id: is required'],
  'an id with a slash': [callLine(ACME, 'a/b'), 'id: must be 1 to 128 of A-Z, a-z, 0-9, ".", "_", ":" and "-"'],
  'an id that is too long': [callLine(ACME, 'x'.repeat(129)), 'id: must be 1 to 128 of A-Z, a-z, 0-9, ".", "_", ":" and "-"'],
  'another organization': [callLine(GLOBEX, 'bad'), 'organization: must be the organization that the batch is sent for'],
  'no organization': [{ type: 'call', id: 'bad' }, 'organization: is required'],
  'an unknown call status': [
    bad({ call_status: 'Done' }),
    'call_status: must be one of scheduled, reached_out, not_scheduled, done, rescheduled, not_interested, canceled, candidate',
  ],
  'an unknown call type': [bad({ call_type: '' }), 'call_type: must be one of interview, meeting'],
  'an unknown redaction status': [
    bad({ anonymity_status: 'done' }),
    'anonymity_status: must be one of not_requested, started, complete, errored',
  ],
  'an unknown review status': [bad({ kta_approval_status: 'ok' }), 'kta_approval_status: must be one of pending, approved'],
  'a rating that is too low': [bad({ rating: 0.99 }), 'rating: must be at least 1'],
  'a rating that is too high': [bad({ rating: 5.01 }), 'rating: must be at most 5'],
  'a rating as text': [bad({ rating: '4' }), 'rating: must be a number'],
  'a negative cost': [bad({ cost: -0.01 }), 'cost: must be at least 0'],
  'an infinite cost': [`{"type":"call","organization":"${ACME}","id":"bad","cost":1e400}`, 'cost: must be a number'],
  'a negative duration': [bad({ duration_minutes: -1 }), 'duration_minutes: must be at least 0'],
  'an unknown property': [bad({ ratings: 4 }), 'ratings: is not a known property'],
  'a nested unknown property': [bad({ expert: { nam: 'x' } }), 'expert.nam: is not a known property'],
  'an unknown property of a note': [
    bad({ notes: [{ ...note('ann@acme.example'), unknown: 1 }] }),
    'notes[0].unknown: is not a known property',
  ],
  'a day that does not exist': [
    bad({ created_at: '2025-02-29T00:00:00Z' }),
    'created_at: must be an RFC 3339 date-time with Z or an offset',
  ],
  'a time without offset': [bad({ date: '2025-02-28T00:00:00' }), 'date: must be an RFC 3339 date-time with Z or an offset'],
  NUL: [bad({ summary: 'a\0b' }), 'summary: must not contain the NUL character'],
  'a nested NUL': [bad({ participants: [{}, { name: '\0' }] }), 'participants[1].name: must not contain the NUL character'],
  'a lone surrogate': [
    `{"type":"call","organization":"${ACME}","id":"bad","transcript":"\\ud83d"}`,
    'transcript: must not contain a lone surrogate',
  ],
  'an unknown project': [bad({ project_id: PROJECT.replaceAll('1', '0') }), 'project_id: must be a project of this organization'],
  "another organization's project": [bad({ project_id: THEIR_PROJECT }), 'project_id: must be a project of this organization'],
  'a malformed project id': [bad({ project_id: 'x' }), 'project_id: must be a UUID'],
  "another organization's user": [bad({ conducted_by: THEIR_USER }), `conducted_by: ${E_MAIL}`],
  'an unknown user': [bad({ conducted_by: 'nobody@crs.example' }), `conducted_by: ${E_MAIL}`],
  'a note of an unknown user': [bad({ notes: [note('ann@crs.example'), note(THEIR_USER)] }), `notes[1].email: ${E_MAIL}`],
  'a note of an unknown user after one without text': [
    bad({ notes: [{ email: 'ann@crs.example' }, note(THEIR_USER)] }),
    `notes[1].email: ${E_MAIL}`,
  ],
  'a note of an unknown user, without text': [bad({ notes: [{ email: THEIR_USER, text: null }] }), `notes[0].email: ${E_MAIL}`],
  'a deletion with another field': [bad({ deleted: true, rating: 4 }), 'rating: is not a known property'],
  'deleted as text': [bad({ deleted: 'yes' }), 'deleted: must be true or false'],
};

describe('bad import lines', () => {
  it('are refused one by one with line number, field and reason, and the good lines between them are stored', async () => {
    const lines: BatchLine[] = [];
    const refusals: string[] = [];
    for (const [line, refusal] of Object.values(BAD)) {
      lines.push(callLine(ACME, `good-${lines.length}`), line);
      refusals.push(`${lines.length}: ${refusal}`);
    }
    const answer = await sendBatch(world, ACME, lines);
    expect(answer.refused).toEqual(refusals);
    expect(answer).toMatchObject({ accepted: refusals.length, unchanged: 0 });
    const good = refusals.map((_, i) => `good-${i * 2}`).sort();
    expect(await storedIds()).toEqual(good);
    const { json } = await world.rest('/v1/calls?start_date=2000-01-01T00:00:00Z&end_date=2100-01-01T00:00:00Z', { key });
    expect(json.pagination.total_items).toBe(good.length);
    expect(await storedIds(GLOBEX)).toEqual(['kept', 'theirs']);
  });

  it('leave the stored version of their call unchanged', async () => {
    const line = callLine(ACME, 'kept', { rating: 1, notes: [note('ann@crs.example')], transcript: 'words' });
    await sendBatch(world, ACME, [line]);
    const before = await world.rest('/v1/calls/kept', { key });
    const answer = await sendBatch(world, ACME, [
      { ...line, rating: 9 },
      { ...line, rating: 2, notes: [note('nobody@crs.example')] },
      { ...line, transcript: [{ text: 'new' }, { text: 1 }] },
    ]);
    expect(answer).toEqual({
      accepted: 0,
      unchanged: 0,
      refused: ['1: rating: must be at most 5', `2: notes[0].email: ${E_MAIL}`, '3: transcript[1].text: must be text'],
    });
    expect((await world.rest('/v1/calls/kept', { key })).text).toBe(before.text);
  });

  it('do not include lines with the lowest or highest rating', async () => {
    expect(
      await sendBatch(world, ACME, [callLine(ACME, 'r1', { rating: 1 }), callLine(ACME, 'r5', { rating: 5 })]),
    ).toMatchObject({ accepted: 2 });
  });

  it('do not include lines with e-mail addresses in another case', async () => {
    const line = callLine(ACME, 'folded', { conducted_by: 'ANN@crs.EXAMPLE', notes: [note('Bob@crs.example')] });
    expect(await sendBatch(world, ACME, [line])).toMatchObject({ accepted: 1, refused: [] });
    const lower = { ...line, conducted_by: 'ann@crs.example', notes: [note('bob@crs.example')] };
    expect(await sendBatch(world, ACME, [lower])).toMatchObject({ unchanged: 1, refused: [] });
  });

  it('include all lines of an organization that does not exist', async () => {
    const lines = [callLine(NOWHERE, 'x'), callLine(NOWHERE, 'x', { deleted: true }), callLine(NOWHERE, 'x', { rating: 0 })];
    expect(await sendBatch(world, NOWHERE, lines)).toEqual({
      accepted: 0,
      unchanged: 0,
      refused: [
        '1: organization: must be an organization that exists',
        '2: organization: must be an organization that exists',
        '3: rating: must be at least 1',
      ],
    });
    expect(await storedIds(NOWHERE)).toEqual([]);
  });

  it('are found even if the batch has more e-mail addresses than one look-up request holds', async () => {
    const notes = (call: number) => Array.from({ length: 1_000 }, (_, i) => note(`${'x'.repeat(230)}${call}.${i}@crs.example`));
    const answer = await sendBatch(world, ACME, [
      ...Array.from({ length: 12 }, (_, call) => callLine(ACME, `many-notes-${call}`, { notes: notes(call) })),
      callLine(ACME, 'lone', { notes: [note('ann@crs.example')] }),
    ]);
    const refused = Array.from({ length: 12 }, (_, call) => `${call + 1}: notes[0].email: ${E_MAIL}`);
    expect(answer).toEqual({ accepted: 1, unchanged: 0, refused });
  });
});
