/** Maps the recorded meetings of the QMSum data set to import records and to the answers that REST must give. */

/** Positions of turns, first and last inclusive, as decimal strings. */
export type Span = [first: string, last: string];

/** The used fields of a line of `meetings.jsonl`. */
export interface Meeting {
  topic_list?: { topic: string; relevant_text_span: Span[] }[];
  general_query_list?: { query: string; answer: string }[];
  specific_query_list?: { query: string; answer: string; relevant_text_span: Span[] }[];
  meeting_transcripts: { speaker: string; content: string }[];
}

export const QMSUM_PROJECT_ID = '5d0c6f3e-2b7a-4c19-9e84-71a6d2f8b035';

const LANGUAGE = 'en';
const FIRST_MEETING = Date.parse('2026-01-05T09:00:00.000Z');
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** The one user of an organization of meetings. */
function qmsumUser(organization: string): string {
  return `researcher@${organization}.example`;
}

/** All import records. A record refers only to earlier ones. */
export async function* importRecords(
  meetings: AsyncIterable<Meeting> | Iterable<Meeting>,
  organization: string,
): AsyncGenerator<Record<string, unknown>> {
  const email = qmsumUser(organization);
  yield { type: 'organization', id: organization, name: 'QMSum' };
  yield { type: 'user', organization, email, name: 'QMSum Researcher' };
  yield {
    type: 'project',
    organization,
    id: QMSUM_PROJECT_ID,
    name: 'QMSum meetings',
    summary: 'Recorded meetings with queries and reference summaries.',
    status: 'active',
    created_at: new Date(FIRST_MEETING - DAY).toISOString(),
    created_by: email,
    members: [{ email, role: 'lead' }],
  };
  let index = 0;
  for await (const meeting of meetings) yield mapMeeting(meeting, index++, organization);
}

/**
 * An import line of type `call`, without the fields that are null. Text is kept as it is, including tokens like `{vocalsound}`, empty turns, and spaces at both ends.
 * @param index position in the file, from 0; it determines the call's id and times
 */
export function mapMeeting(meeting: Meeting, index: number, organization: string) {
  const { topic_list: topics = [], general_query_list: general = [], specific_query_list: specific = [] } = meeting;
  const date = FIRST_MEETING + index * DAY;
  return {
    type: 'call',
    organization,
    id: `qmsum-${String(index + 1).padStart(2, '0')}`,
    project_id: QMSUM_PROJECT_ID,
    call_type: 'meeting',
    conducted_by: qmsumUser(organization),
    call_status: 'done',
    anonymity_status: 'not_requested',
    created_at: new Date(date + 90 * MINUTE).toISOString(),
    date: new Date(date).toISOString(),
    participants: [...new Set(meeting.meeting_transcripts.map(({ speaker }) => speaker))].map((name) => ({
      name,
      role: null,
      email: null,
    })),
    ktas: topics.length ? topics.map(({ topic }) => `- ${topic}`).join('\n') : null,
    kta_approval_status: topics.length ? 'approved' : null,
    qa_blocks: specific.map(({ query, answer, relevant_text_span: spans }) => ({
      question: query,
      answer,
      section: closestTopic(topics, spans),
    })),
    source: 'QMSum',
    summary: summaryOf(general),
    transcript: segmentsOf(meeting),
    language: LANGUAGE,
  };
}

/** The verbatim transcript that `transcripts[]` of the REST call detail must show. */
export function expectedTranscript(meeting: Meeting) {
  const segments = segmentsOf(meeting);
  return {
    kind: 'verbatim',
    language: LANGUAGE,
    text: segments.map(({ speaker, text }) => `${speaker}: ${text}`).join('\n'),
    segments,
  };
}

function segmentsOf({ meeting_transcripts: turns }: Meeting) {
  return turns.map(({ speaker, content }) => ({ speaker, start_seconds: null, text: content }));
}

/** A single answer is the summary. Several answers get their questions as headings. */
function summaryOf(queries: { query: string; answer: string }[]): string | null {
  if (queries.length === 0) return null;
  if (queries.length === 1) return queries[0]!.answer;
  return queries.map(({ query, answer }) => `## ${query}\n\n${answer}`).join('\n\n');
}

/** The topic that shares most turns with the spans, or the first of several such topics; null where no topic shares a turn. */
function closestTopic(topics: NonNullable<Meeting['topic_list']>, spans: Span[]): string | null {
  const turns = turnsOf(spans);
  let closest: string | null = null;
  let most = 0;
  for (const { topic, relevant_text_span: topicSpans } of topics) {
    const shared = turnsOf(topicSpans).intersection(turns).size;
    if (shared > most) {
      closest = topic;
      most = shared;
    }
  }
  return closest;
}

/** The turns of the spans, each once, since spans may overlap. */
function turnsOf(spans: Span[]): Set<number> {
  const turns = new Set<number>();
  for (const [first, last] of spans) for (let turn = Number(first); turn <= Number(last); turn++) turns.add(turn);
  return turns;
}
