import { ALLOWED_FIELDS, type AllowedField } from '@crs/records/allowed-fields';
import { startInstance } from '@crs/testing/instance';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { beforeAll, describe, expect, it } from 'vitest';
import { shownName } from './_clients.ts';
import { callLine, tenantRecords } from './_records.ts';

const CREATED = '2025-03-01T10:00:00.000Z';

/** The call that every organization has, each with other settings. */
const call = (organization: string, id = 'call_1', fields: object = {}) =>
  callLine(organization, id, {
    anonymity_status: 'complete',
    created_at: CREATED,
    cost: 120.5,
    rating: 4,
    segment: 'Customers',
    source: 'Network',
    expert: { name: 'Eva Muster', job_title: 'CFO', organization: 'Initech', country: 'Chile', bio: 'Two companies.' },
    participants: [{ name: 'eva muster', role: 'expert', email: 'eva@initech.example' }],
    summary: 'Short.',
    ktas: '- one',
    kta_approval_status: 'pending',
    qa_blocks: [{ id: '11111111-2222-4333-8444-666666666666', question: 'Why?', answer: 'Because.', section: 'Intro' }],
    transcript: [{ speaker: 'Eva Muster', start_seconds: 1.5, text: 'Hello.' }],
    redacted_transcript: 'Eva Muster: Hello.',
    language: 'en',
    ...fields,
  });

/** The fields that no setting hides. */
const ALWAYS = [
  'call_id',
  'project_id',
  'call_type',
  'call_status',
  'anonymity_status',
  'date',
  'created_at',
  'updated_at',
  'duration_minutes',
];

const verbatim = (name: string) => ({
  kind: 'verbatim',
  language: 'en',
  text: `${name}: Hello.`,
  segments: [{ speaker: name, start_seconds: 1.5, text: 'Hello.' }],
});
const redacted = (name: string) => ({ kind: 'redacted', language: 'en', text: `${name}: Hello.`, segments: [] });
const clean = { kind: 'clean', language: 'en', text: 'Q: Why?\nA: Because.', segments: [] };
const block = { id: '11111111-2222-4333-8444-666666666666', question: 'Why?', answer: 'Because.', section: 'Intro' };

/** What each allowed field makes visible in a detail if it is the only one. */
const VISIBLE: Record<AllowedField, object> = {
  'interviewee.name': { interviewee: { name: 'Eva Muster' } },
  'interviewee.job_title': { interviewee: { job_title: 'CFO' } },
  'interviewee.organization': { interviewee: { organization: 'Initech' } },
  'interviewee.country': { interviewee: { country: 'Chile' } },
  'interviewee.bio': { interviewee: { bio: 'Two companies.' } },
  participants: { participants: [{ name: 'Interviewee', role: 'expert' }] },
  'participants.email': {},
  summary: { summary: 'Short.' },
  key_takeaways: { key_takeaways: '- one', key_takeaways_status: 'pending' },
  qa_blocks: { qa_blocks: [block] },
  rating: { rating: 4 },
  cost: { cost: 120.5 },
  segment: { segment: 'Customers' },
  source: { source: 'Network' },
  'transcripts.verbatim': { transcripts: [verbatim('Interviewee')] },
  'transcripts.redacted': { transcripts: [redacted('Interviewee')] },
  'transcripts.clean': {},
};

const ANONYMOUS = { anonymize_interviewees: true };
/** The settings of each organization. */
const SETTINGS = new Map<string, object>();
const organizationWith = (settings: object) => {
  const id = tenant('fields');
  SETTINGS.set(id, settings);
  return id;
};
const ONLY = new Map(ALLOWED_FIELDS.map((field) => [field, organizationWith({ allowed_fields: [field] })]));
const [ALL, NONE] = [organizationWith({}), organizationWith({ allowed_fields: [] })];
const [ACME, GLOBEX] = [organizationWith(ANONYMOUS), organizationWith(ANONYMOUS)];

let world: World;
const keys = new Map<string, string>();

beforeAll(async () => {
  world = await sharedWorld();
  await world.load([...SETTINGS].flatMap(([id, settings]) => tenantRecords(id, settings)));
  await world.load([...SETTINGS.keys()].map((id) => call(id)));
  for (const id of SETTINGS.keys()) keys.set(id, await world.createKey(id));
});

const RANGE = 'start_date=2025-01-01T00:00:00Z&end_date=2026-01-01T00:00:00Z';

/** Reads the detail of a call, and expects the same bytes in the list and in the feed. */
async function detail(organization: string, path = 'call_1') {
  const key = keys.get(organization);
  const { status, json, text } = await world.rest(`/v1/calls/${path}`, { key });
  expect(status).toBe(200);
  const flags = path.includes('?') ? `&${path.split('?')[1]}` : '';
  for (const list of [`/v1/calls?${RANGE}&expand=detail${flags}`, `/v1/changes?expand=detail${flags}`]) {
    expect((await world.rest(list, { key })).text, list).toContain(text);
  }
  return json;
}

async function listItem(organization: string) {
  const { json } = await world.rest(`/v1/calls?${RANGE}`, { key: keys.get(organization) });
  expect(json.data).toHaveLength(1);
  return json.data[0];
}

/** The fields of a detail that a setting may hide. */
function optional(json: Record<string, unknown>): object {
  for (const key of ALWAYS) expect(json).toHaveProperty(key);
  return Object.fromEntries(Object.entries(json).filter(([key]) => !ALWAYS.includes(key)));
}

describe('allowed_fields', () => {
  it.each(ALLOWED_FIELDS)('with %s alone shows that field and no other', async (field) => {
    const organization = ONLY.get(field)!;
    expect(optional(await detail(organization))).toEqual({ interviewee: {}, transcripts: [], ...VISIBLE[field] });
    const { segment, source, has_transcript: hasTranscript } = await listItem(organization);
    expect({ segment, source }).toEqual({
      segment: field === 'segment' ? 'Customers' : undefined,
      source: field === 'source' ? 'Network' : undefined,
    });
    expect(hasTranscript).toBe(field === 'transcripts.verbatim' || field === 'transcripts.redacted');
  });

  it('without any field shows only the fields that every call has', async () => {
    expect(optional(await detail(NONE))).toEqual({ interviewee: {}, transcripts: [] });
  });

  it('with all fields shows every field', async () => {
    expect(optional(await detail(ALL))).toEqual({
      interviewee: { name: 'Eva Muster', job_title: 'CFO', organization: 'Initech', country: 'Chile', bio: 'Two companies.' },
      participants: [{ name: 'eva muster', role: 'expert', email: 'eva@initech.example' }],
      summary: 'Short.',
      key_takeaways: '- one',
      key_takeaways_status: 'pending',
      qa_blocks: [block],
      rating: 4,
      cost: 120.5,
      segment: 'Customers',
      source: 'Network',
      transcripts: [verbatim('Eva Muster'), redacted('Eva Muster'), clean],
    });
  });
});

describe('include flags', () => {
  it.each([
    ['', ['verbatim', 'redacted', 'clean']],
    ['?include_verbatim=false', ['redacted', 'clean']],
    ['?include_redacted=false', ['verbatim', 'clean']],
    ['?include_clean=false', ['verbatim', 'redacted']],
    ['?include_verbatim=true&include_redacted=false&include_clean=false', ['verbatim']],
    ['?include_verbatim=false&include_redacted=false&include_clean=false', []],
  ])('select the transcripts for the query "%s"', async (query, kinds) => {
    const { transcripts } = await detail(ALL, `call_1${query}`);
    expect(transcripts.map((it: { kind: string }) => it.kind)).toEqual(kinds);
  });

  it('do not show fields that are not enabled', async () => {
    expect(
      (await detail(ONLY.get('transcripts.redacted')!, 'call_1?include_verbatim=true&include_redacted=false')).transcripts,
    ).toEqual([]);
  });
});

describe('the redacted transcript', () => {
  it.each([null, 'not_requested', 'started', 'errored'])('is hidden while its redaction is %s', async (status) => {
    const id = `redaction-${status}`;
    await world.load([call(ALL, id, { anonymity_status: status }), call(ACME, id)]);
    const kindsIn = async (organization: string) =>
      (await detail(organization, id)).transcripts.map((it: { kind: string }) => it.kind);
    expect(await kindsIn(ALL)).toEqual(['verbatim', 'clean']);
    expect(await kindsIn(ACME)).toEqual(['verbatim', 'redacted', 'clean']);
  });
});

describe('anonymize_interviewees', () => {
  it('shows the same pseudonym in place of the recorded name everywhere', async () => {
    const { interviewee, participants, transcripts } = await detail(ACME);
    expect(interviewee).toMatchObject({ name: expect.stringMatching(/^Expert [A-Z2-7]{8}$/), job_title: 'CFO' });
    expect(participants[0].name).toBe(interviewee.name);
    expect(transcripts).toEqual([verbatim(interviewee.name), redacted(interviewee.name), clean]);
  });

  it('prefers the recorded anonymized name, and shows a new one as soon as it is imported', async () => {
    await world.load([call(ACME, 'named', { anonymized_name: 'CFO at a software house' })]);
    const before = await detail(ACME, 'named');
    expect(before.interviewee.name).toBe('CFO at a software house');
    await world.load([call(ACME, 'named', { anonymized_name: 'Former CFO' })]);
    const after = await detail(ACME, 'named');
    expect(after.interviewee.name).toBe('Former CFO');
    expect(after.updated_at > before.updated_at).toBe(true);
  });

  it('gives a person the same pseudonym in all calls of an organization, and a different one in another organization', async () => {
    await world.load([call(ACME, 'again', { expert: { name: 'EVA MUSTER', organization: 'initech' } })]);
    const { name } = (await detail(ACME)).interviewee;
    expect((await detail(ACME, 'again')).interviewee.name).toBe(name);
    expect((await detail(GLOBEX)).interviewee.name).toMatch(/^Expert/);
    expect((await detail(GLOBEX)).interviewee.name).not.toBe(name);
  });

  it('gives the same pseudonym from each instance, even if two instances first create it at the same time', async () => {
    const fresh = tenant('fresh');
    await world.load([...tenantRecords(fresh, ANONYMOUS), call(fresh)]);
    keys.set(fresh, await world.createKey(fresh));
    const another = await startInstance(world, 'calls');
    const nameFromAnother = (organization: string) => shownName(world, another.address, keys.get(organization)!, 'call_1');
    try {
      expect(await nameFromAnother(ACME)).toBe((await detail(ACME)).interviewee.name);
      const [theirs, ours] = await Promise.all([nameFromAnother(fresh), detail(fresh)]);
      expect(theirs).toBe(ours.interviewee.name);
    } finally {
      await another.stop();
    }
  });
});
