/** The records of each organization. All organizations have the same ids, and each text contains a marker of its organization. */

/** The users' e-mail addresses. All organizations have these users, except for the last one, which only `alpha` has. */
export const EMAILS = { ann: 'ann@crs.example', bob: 'bob@crs.example', only: 'only@alpha.example' };
export const OFFICES = ['London', 'Zürich', '  ', 'a'.repeat(200)];
/** Ann leads all projects. Bob is a member of the first. */
export const PROJECTS = [1, 2, 3].map((n) => `${String(n).repeat(8)}-2222-4333-8444-555555555555`);
const CALLS = 60;
export const CALL_IDS = [
  'call_full',
  'call_empty',
  'a',
  '-',
  '._:-',
  'x'.repeat(128),
  ...Array.from({ length: CALLS }, (_, n) => `call_${n}`),
];
/** A marker in texts that bob must not see. */
export const SECRET_MARK = 'mark-for-ann';

const STATUSES = ['scheduled', 'reached_out', 'not_scheduled', 'done', 'rescheduled', 'not_interested', 'canceled', 'candidate'];
const ODD = [
  '',
  '%_\\',
  'İstanbul ßtraße',
  '\u202e\u{1f469}\u200d\u{1f4bb}',
  'a'.repeat(100),
  '"quoted"\n\t',
  '<b>&amp;</b>',
  '2025',
];

export function recordsOf(organization: { id: string }): object[] {
  const { id } = organization;
  const mine = `mark-${id}`;
  const marked = (text: string, isSecret = false) => `${text} ${mine}${isSecret ? ` ${SECRET_MARK}` : ''}`;
  const emails = id === 'alpha' ? Object.values(EMAILS) : [EMAILS.ann, EMAILS.bob];
  return [
    { type: 'organization', name: mine, ...organization },
    ...emails.map((email) => ({ type: 'user', organization: id, email, name: marked(email) })),
    ...OFFICES.map((name, n) => ({ type: 'billing_office', organization: id, name, is_default: n === 0 })),
    ...PROJECTS.map((project, n) => ({
      type: 'project',
      organization: id,
      id: project,
      name: n === 2 ? null : marked('Project', n > 0),
      summary: marked('Summary', n > 0),
      status: 'active',
      is_archived: n === 2,
      created_at: at(n),
      created_by: EMAILS.ann,
      members: [{ email: EMAILS.ann, role: 'lead' }, ...(n === 0 ? [{ email: EMAILS.bob, role: 'member' }] : [])],
    })),
    ...CALL_IDS.map((call, n) => callOf(id, call, n, (text) => marked(text, n % 4 !== 0))),
    ...Array.from({ length: 30 }, (_, n) => ({
      type: 'entity',
      organization: id,
      project_id: PROJECTS[n % 2],
      id: `${String(n).padStart(8, '0')}-2222-4333-8444-555555555555`,
      name: marked(`Entity ${n}`, n % 2 === 1),
      entity_type: n % 3 === 0 ? null : ['company', 'product', 'İ'][n % 3],
      description: marked(ODD[n % ODD.length]!, n % 2 === 1),
      created_at: at(n),
    })),
  ];
}

/** Every fourth call belongs to the first project. The others belong to the second, or to no project and were conducted by ann. */
function callOf(organization: string, id: string, n: number, marked: (text: string) => string): object {
  const record = { type: 'call', organization, id, created_at: at(n), conducted_by: EMAILS.ann };
  const placed = { ...record, ...(n % 4 !== 3 && { project_id: PROJECTS[n % 4 === 0 ? 0 : 1] }) };
  if (id === 'call_empty') return placed;
  const odd = ODD[n % ODD.length]!;
  return {
    ...placed,
    call_type: n % 3 === 0 ? 'meeting' : 'interview',
    call_status: STATUSES[n % STATUSES.length],
    anonymity_status: ['not_requested', 'started', 'complete', 'errored'][n % 4],
    date: n % 5 === 0 ? null : at(n * 3),
    duration_minutes: [0, 0.5, 54.25, 1e6, null][n % 5],
    rating: [1, 3, 5, null][n % 4],
    cost: [0, 0.01, 120.5, 1e12, null][n % 5],
    segment: n % 2 === 0 ? marked(odd) : null,
    source: marked(odd),
    language: n % 2 === 0 ? 'en' : null,
    expert: {
      name: marked(`Eva ${n}`),
      job_title: marked(odd),
      organization: marked('Initech'),
      country: 'Türkiye',
      bio: marked(odd),
    },
    participants: [{ name: marked(`Eva ${n}`), role: 'Expert', email: 'eva@initech.example' }, {}],
    summary: marked(odd),
    ktas: marked('- one'),
    kta_approval_status: n % 2 === 0 ? 'pending' : 'approved',
    notes: [{ email: EMAILS.ann, text: marked('note') + ' mark-for-ann' }],
    qa_blocks: [{ question: marked('Why?'), answer: marked(odd), section: 'One' }, {}],
    transcript: [{ speaker: marked(`Eva ${n}`), start_seconds: 1.5, text: marked(odd) }, { text: marked('Hello') }],
    redacted_transcript: marked('Expert: Hello'),
  };
}

/** Some calls have the same time, so that they are ordered by id. */
function at(n: number): string {
  return new Date(Date.UTC(2025, 0, 1) + Math.floor(n / 3) * 6 * 3_600_000).toISOString();
}
