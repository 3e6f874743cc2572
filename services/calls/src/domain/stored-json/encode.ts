import { fold } from '@crs/kit/text';
import type { Participant, Segment } from '../call.ts';
import type { CallRecord } from '../call-record.ts';
import type { Stored } from '../columns.ts';
import { nameOf, type Name } from './find-name.ts';
import { markEmail, markNames } from './marks.ts';
import { joinDetail, joinListItem } from './parts.ts';
import { AFTER_SPEAKER, cleanText, findAcross, findInSpeaker, findLabels, findWhole } from './transcript.ts';

/**
 * The version of the stored form. With a new one, the next import reads an unchanged line again, and writes its call if the texts differ.
 * A change of the form, or of the search for the name, needs a new version.
 */
export const FORM = 3;

/** A text that the times of the call divide. They are known when the call is written. */
type AroundTimes = [before: string, after: string];

type Transcripts = Omit<Stored, 'detailJson'>;

/** The texts of a record as they are stored. */
export function encode(record: CallRecord): { listItem: AroundTimes; detail: AroundTimes; transcripts: Transcripts } {
  const name = nameOf(record.name);
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

function detailOf(record: CallRecord, name: Name | undefined): AroundTimes {
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
    name: `,"name":${markedString(record.name, findAll)}`,
    jobTitle: member('job_title', record.jobTitle),
    employer: member('organization', record.employer),
    country: member('country', record.country),
    bio: member('bio', record.bio),
    participants: `,"participants":[${markedParticipants(record.participants, name)}]`,
    summary: member('summary', record.summary),
    keyTakeaways: member('key_takeaways', record.ktas) + member('key_takeaways_status', record.ktaApprovalStatus),
    qaBlocks: member('qa_blocks', qaBlocks),
    language: JSON.stringify(record.language),
  };
  return [membersOf(state), joinDetail(parts)];
}

function transcriptsOf({ qaBlocks, transcripts }: CallRecord, name: Name | undefined): Transcripts {
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
      stored[kind] = `"${[...pieces(content)].map((piece) => markNames(piece, findLabels(piece, name))).join('')}"`;
      stored[`${kind}Segments`] = '[]';
    } else [stored[kind], stored[`${kind}Segments`]] = markedSegments(content, name);
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

function findAll(text: string): [[number, number]] {
  return [[0, text.length]];
}

function markedString(text: string | null, find: (text: string) => readonly (readonly [number, number])[]): string {
  return text === null ? 'null' : `"${markNames(text, find(text))}"`;
}

function markedParticipants(participants: readonly Participant[], interviewee: Name | undefined): string {
  const named = new Set(participants.filter(({ name }) => name !== null && findWhole(name, interviewee).length > 0));
  // A person who joined twice is listed twice, maybe by a name that isn't found, such as `Eva's phone`.
  const emails = new Set([...named].flatMap(({ email }) => (email === null ? [] : fold(email))));
  return participants
    .map((each) => {
      const { name, role, email } = each;
      const shown = markedString(name, (text) => (named.has(each) ? findAll(text) : []));
      const isInterviewees = named.has(each) || (email !== null && emails.has(fold(email)));
      return `{"name":${shown},"role":${JSON.stringify(role)}${markEmail(member('email', email), isInterviewees)}}`;
    })
    .join(',');
}

const PIECE_LENGTH = 64 * 1024;
const LINE_END = /[\n\r\v\f\u0085\u2028\u2029]/g;

/** Divides a text after some of its lines. A text may be the label of millions of lines, and all their spans at once would exhaust the memory. */
function* pieces(text: string): Generator<string> {
  for (let at = 0; at < text.length;) {
    LINE_END.lastIndex = at + PIECE_LENGTH;
    const end = LINE_END.test(text) ? LINE_END.lastIndex : text.length;
    yield text.slice(at, end);
    at = end;
  }
}

function markedSegments(segments: Segment[], name: Name | undefined): [text: string, segments: string] {
  const lines: string[] = [];
  const objects: string[] = [];
  // A transcript has thousands of segments and a few speakers.
  const speakers = new Map<string, string>();
  const labelOf = (speaker: string) => {
    const known = speakers.get(speaker) ?? markNames(speaker, findInSpeaker(speaker, name));
    speakers.set(speaker, known);
    return known;
  };
  for (const { speaker, start_seconds: start, text } of segments) {
    const across = findAcross(speaker, text, name);
    const label = speaker && (across ? markNames(speaker, across.inSpeaker) : labelOf(speaker));
    const said = markNames(text, across?.inText ?? findLabels(text, name));
    lines.push(across ? markNames(across.line, across.found) : label ? label + AFTER_SPEAKER + said : said);
    objects.push(`{"speaker":${label === null ? null : `"${label}"`},"start_seconds":${start},"text":"${said}"}`);
  }
  return [`"${lines.join('\\n')}"`, `[${objects.join(',')}]`];
}
