import { ALLOWED_FIELDS } from '@crs/records/allowed-fields';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { beforeAll, describe, expect, it } from 'vitest';
import { callLine, detailOf, PROJECT, tenantRecords, type CallLine } from './_records.ts';

const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];

const NASTY = [
  'tab\tnew line\ncarriage return\r\nback\\slash \\n \\t \\N \\x41 \\. double "quotes" single \'quotes\' $1 %s {"json": [1]}',
  '\\.',
  'line\n\\.\nline',
  '\\N',
  '',
  ' spaces at both ends ',
  'emoji 👩‍👩‍👧 🏳️‍🌈 \u{10ffff}, 한국어, العربية, हिन्दी, ไทย, ΣΊΣΥΦΟΣ, İstanbul, ß',
  'decomposed e\u0301 beside composed é, \ufeff mark, \u2028\u2029\u0085\v\f\b\u0001\u007f',
  `<script>alert('x')</script> <!-- & &amp; -->`,
];
const LONG = 'Lorem ipsum "dolor" \\ 👩 é\n'.repeat(20_000);
const EVERYTHING = NASTY.join('|');

/** A line with a value in every field, most of them with characters that are easily mangled. */
const FULL = callLine(ACME, 'Az09._:-', {
  project_id: PROJECT,
  call_type: 'meeting',
  conducted_by: 'ann@crs.example',
  call_status: 'rescheduled',
  anonymity_status: 'complete',
  cost: 120.12345678,
  created_at: '2025-03-01T23:59:59.999Z',
  date: '1969-12-31T23:59:59.001-11:59',
  duration_minutes: 1e-7,
  expert: { name: 'İ. Müller: "the" \\ expert', job_title: NASTY[0], organization: NASTY[1], country: NASTY[2], bio: LONG },
  anonymized_name: 'Expert',
  participants: NASTY.map((name) => ({ name, role: EVERYTHING, email: 'ä"\\\u{1f600}@crs.example' })),
  ktas: EVERYTHING,
  kta_approval_status: 'approved',
  notes: [
    { email: 'ann@crs.example', text: EVERYTHING },
    { email: 'bob@crs.example', text: '' },
  ],
  qa_blocks: NASTY.map((text, i) => ({ id: `${PROJECT.slice(0, -1)}${i}`, question: text, answer: EVERYTHING, section: text })),
  rating: 4.00000001,
  segment: NASTY[6],
  source: NASTY[7],
  summary: LONG,
  transcript: NASTY.map((text, i) => ({ speaker: text, start_seconds: i + 0.12345678, text })),
  redacted_transcript: EVERYTHING,
  language: NASTY[3],
});

let world: World;
let key: string;

beforeAll(async () => {
  world = await sharedWorld();
  await world.load([...tenantRecords(ACME), ...tenantRecords(GLOBEX)]);
  key = await world.createKey(ACME);
});

/** Imports a line and reads it back. Another organization gets a call with the same id, to show a mix-up. */
async function roundTrip(line: CallLine) {
  const theirs = callLine(GLOBEX, line.id, { summary: 'Theirs.', notes: [{ email: 'ann@crs.example', text: 'Theirs.' }] });
  await world.load([line, theirs]);
  const { status, json } = await world.rest(`/v1/calls/${line.id}`, { key });
  expect(status).toBe(200);
  const times = { createdAt: new Date(line['created_at'] ?? json.created_at), updatedAt: new Date(json.updated_at) };
  return { json, expected: detailOf(line, times) };
}

/** The texts of a call's notes, the shortest first. */
async function notesOf(id: string): Promise<string[]> {
  const { rows } = await world.query(
    'select text from calls.notes where organization = $1 and call_id = $2 order by length(text)',
    [ACME, id],
  );
  return rows.map(({ text }) => text);
}

describe('a record', () => {
  it('comes back as it was sent, with odd values in all fields', async () => {
    const { json, expected } = await roundTrip(FULL);
    expect(json).toEqual(expected);
    expect(json.summary.length).toBe(LONG.length);
    expect(await notesOf(FULL.id)).toEqual(['', EVERYTHING]);
  });

  it('changes nothing when it is sent again with its properties in another order', async () => {
    const reversed = JSON.parse(JSON.stringify(FULL), (_, value: unknown) =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).toReversed())
        : value,
    );
    expect(await world.tryLoad([FULL, reversed])).toEqual({ accepted: 0, unchanged: 2, refused: [] });
  });

  it('comes back with nulls and empty lists for absent fields', async () => {
    const { json, expected } = await roundTrip(callLine(ACME, 'bare', { created_at: '2025-03-01T00:00:00.000Z' }));
    expect(json).toEqual(expected);
    expect(json).toMatchObject({ call_type: 'interview', rating: null, participants: [], qa_blocks: [], transcripts: [] });
  });

  it('comes back with nulls and empty lists in nested places', async () => {
    const nobody = { name: null, role: null, email: null };
    const { json, expected } = await roundTrip(
      callLine(ACME, 'nested', {
        expert: { name: null, job_title: null, organization: null, country: null, bio: null },
        participants: [nobody, {}, nobody],
        qa_blocks: [{ id: PROJECT, question: null, answer: null, section: null }],
        notes: [{ email: 'ann@crs.example', text: null }],
        transcript: [{ speaker: null, start_seconds: null, text: '' }],
        redacted_transcript: [],
        anonymity_status: 'complete',
      }),
    );
    expect(json).toEqual(expected);
    expect(json.participants).toEqual([nobody, nobody, nobody]);
    expect(await notesOf('nested')).toEqual([]);
    expect(json.transcripts).toEqual([
      { kind: 'verbatim', language: null, text: '', segments: [{ speaker: null, start_seconds: null, text: '' }] },
    ]);
  });

  it.each([0, 1e-7, 5e-324, 0.1, 123456789.12345678, 2 ** 53 - 1, 1e21, Number.MAX_VALUE])(
    'keeps the number %d to the last digit',
    async (number) => {
      const line = callLine(ACME, 'number', {
        cost: number,
        duration_minutes: number,
        transcript: [{ start_seconds: number, text: 'x' }],
      });
      const { json, expected } = await roundTrip(line);
      expect(json).toEqual(expected);
    },
  );

  it('loses the fields that a later line for the same call omits', async () => {
    await world.load([{ ...FULL, id: 'whole' }]);
    const { json, expected } = await roundTrip(callLine(ACME, 'whole', { created_at: FULL['created_at'] }));
    expect(json).toEqual(expected);
    expect(await notesOf('whole')).toEqual([]);
  });

  it('may have any valid timestamp as created_at, whatever the time zone of the process', async () => {
    const LAST = '9999-12-31T23:59:59.999Z';
    const zone = process.env['TZ'];
    // Before 1893, the UTC offset of this zone had seconds.
    process.env['TZ'] = 'Europe/Berlin';
    try {
      for (const timestamp of ['0001-01-01T00:00:00.000Z', '1850-06-01T12:00:00.000Z', '9999-12-31T23:59:59.998Z', LAST]) {
        const { json, expected } = await roundTrip(callLine(ACME, 'early-or-late', { created_at: timestamp, date: timestamp }));
        expect(json).toEqual(expected);
        for (const [start_date, end_date, found] of [
          // The end is exclusive, so no range includes the last valid timestamp.
          [timestamp, LAST, timestamp !== LAST],
          ['0001-01-01T00:00:00Z', timestamp, false],
        ] as const) {
          const query = new URLSearchParams({ start_date, end_date, per_page: '200' }).toString();
          const list = await world.rest(`/v1/calls?${query}`, { key });
          const ids = (list.json.data ?? []).map((it: { call_id: string }) => it.call_id);
          expect(ids.includes('early-or-late'), `${start_date} ${end_date}`).toBe(found);
        }
      }
    } finally {
      if (zone === undefined) delete process.env['TZ'];
      else process.env['TZ'] = zone;
    }
  });

  it('is returned with a value in every field of the contract if all fields are allowed', async () => {
    expect(ALLOWED_FIELDS).toHaveLength(17);
    const { json } = await world.rest(`/v1/calls/${FULL.id}`, { key });
    expect(json.transcripts.map((it: { kind: string }) => it.kind)).toEqual(['verbatim', 'redacted', 'clean']);
    for (const value of Object.values(json)) expect(value).not.toBeNull();
  });
});
