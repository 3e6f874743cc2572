import { fold } from '@crs/kit/text';
import type { Participant, Segment } from '../call.ts';
import type { CallRecord } from '../call-record.ts';
import type { Stored } from '../columns.ts';
import { toNamePattern, type NamePattern } from './find-name.ts';
import { joinDetail, joinListItem } from './parts.ts';
import { emailPlaceholder, withNamePlaceholders } from './placeholders.ts';
import { AFTER_SPEAKER, cleanText, findAcross, findInSpeaker, findLabels, isName, linesInChunks } from './transcript.ts';

/**
 * The version of the stored format. Increase it when the format or the search for the name changes: the next import then parses unchanged
 * lines again, and writes each call whose texts differ.
 */
export const FORMAT_VERSION = 3;

/** The text before and after the call's times, which are known only when the call is written. */
type AroundTimes = [before: string, after: string];

type Transcripts = Omit<Stored, 'detailJson'>;

/** Encodes the stored texts of a record. */
export function encode(record: CallRecord): { listItem: AroundTimes; detail: AroundTimes; transcripts: Transcripts } {
  const name = toNamePattern(record.name);
  const transcripts = transcriptsOf(record, name);
  return { listItem: listItemOf(record, transcripts.verbatim !== null), detail: detailOf(record, name), transcripts };
}

function listItemOf(record: CallRecord, hasVerbatim: boolean): AroundTimes {
  const { callId, durationMinutes, date, callType, callStatus, projectId } = record;
  const before = { call_id: callId, duration_minutes: durationMinutes };
  const after = { date, call_type: callType, call_status: callStatus, project_id: projectId };
  const parts = {
    head: `,${membersOf(after)}`,
    segment: member('segment', record.segment),
    source: member('source', record.source),
    hasTranscript: member('has_transcript', hasVerbatim),
  };
  return [membersOf(before), joinListItem(parts)];
}

function detailOf(record: CallRecord, name: NamePattern | undefined): AroundTimes {
  const { callId, projectId, callType, callStatus, anonymityStatus, date } = record;
  const state = {
    call_id: callId,
    project_id: projectId,
    call_type: callType,
    call_status: callStatus,
    anonymity_status: anonymityStatus,
    date,
  };
  const qaBlocks = record.qaBlocks.map(({ id, question, answer, section }) => ({ id, question, answer, section }));
  const parts = {
    head: member('duration_minutes', record.durationMinutes),
    segment: member('segment', record.segment),
    source: member('source', record.source),
    rating: member('rating', record.rating),
    cost: member('cost', record.cost),
    name: `,"name":${record.name === null ? 'null' : wholeName(record.name)}`,
    jobTitle: member('job_title', record.jobTitle),
    employer: member('organization', record.employer),
    country: member('country', record.country),
    bio: member('bio', record.bio),
    participants: `,"participants":[${participantsOf(record.participants, name)}]`,
    summary: member('summary', record.summary),
    keyTakeaways: member('key_takeaways', record.ktas) + member('key_takeaways_status', record.ktaApprovalStatus),
    qaBlocks: member('qa_blocks', qaBlocks),
    language: JSON.stringify(record.language),
  };
  return [membersOf(state), joinDetail(parts)];
}

function transcriptsOf({ qaBlocks, transcripts }: CallRecord, name: NamePattern | undefined): Transcripts {
  const clean = cleanText(qaBlocks);
  const stored: Transcripts = {
    clean: clean === null ? null : JSON.stringify(clean),
    verbatim: null,
    verbatimSegments: null,
    redacted: null,
    redactedSegments: null,
  };
  for (const { kind, content } of transcripts) {
    if (typeof content === 'string') {
      const chunks = [...linesInChunks(content)].map((chunk) => withNamePlaceholders(chunk, findLabels(chunk, name)));
      stored[kind] = `"${chunks.join('')}"`;
      stored[`${kind}Segments`] = '[]';
    } else [stored[kind], stored[`${kind}Segments`]] = segmentsOf(content, name);
  }
  return stored;
}

/** The members of an object, without its braces. */
function membersOf(object: object): string {
  return JSON.stringify(object).slice(1, -1);
}

function member(name: string, value: unknown): string {
  return `,"${name}":${JSON.stringify(value)}`;
}

/** Returns the name as a JSON string that is one placeholder. */
function wholeName(name: string): string {
  return `"${withNamePlaceholders(name, [[0, name.length]])}"`;
}

function participantsOf(participants: readonly Participant[], interviewee: NamePattern | undefined): string {
  const named = new Set(participants.filter(({ name }) => name !== null && isName(name, interviewee)));
  // Someone who joined twice is listed twice, possibly under a name that isn't found, such as `Eva's phone`.
  const emails = new Set([...named].flatMap(({ email }) => (email === null ? [] : fold(email))));
  return participants
    .map((each) => {
      const { name, role, email } = each;
      const nameJson = name !== null && named.has(each) ? wholeName(name) : JSON.stringify(name);
      const isInterviewees = named.has(each) || (email !== null && emails.has(fold(email)));
      return `{"name":${nameJson},"role":${JSON.stringify(role)}${emailPlaceholder(member('email', email), isInterviewees)}}`;
    })
    .join(',');
}

function segmentsOf(segments: Segment[], name: NamePattern | undefined): [text: string, segments: string] {
  const lines: string[] = [];
  const objects: string[] = [];
  // A transcript has thousands of segments and a few speakers.
  const speakers = new Map<string, string>();
  const labelOf = (speaker: string) => {
    const label = speakers.get(speaker) ?? withNamePlaceholders(speaker, findInSpeaker(speaker, name));
    speakers.set(speaker, label);
    return label;
  };
  for (const { speaker, start_seconds: start, text } of segments) {
    const across = findAcross(speaker, text, name);
    const label = speaker && (across ? withNamePlaceholders(speaker, across.inSpeaker) : labelOf(speaker));
    const said = withNamePlaceholders(text, across?.inText ?? findLabels(text, name));
    lines.push(across ? withNamePlaceholders(across.line, across.found) : label ? label + AFTER_SPEAKER + said : said);
    objects.push(`{"speaker":${label === null ? null : `"${label}"`},"start_seconds":${start},"text":"${said}"}`);
  }
  return [`"${lines.join('\\n')}"`, `[${objects.join(',')}]`];
}
