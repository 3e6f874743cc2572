/**
 * The texts of a call as they are stored: JSON as REST shows it, in parts that a caller sees or doesn't, with marks around the interviewee's name
 * and around e-mails. So a page of list items or details costs no parsing. Only a caller who sees another name has texts written anew. A change of the form,
 * or of the search for the name, needs a new {@link FORM}.
 */
import { fold } from '@crs/kit/text';
import type { Participant, QaBlock, Segment, Transcript } from './call.ts';
import type { CallRecord } from './call-record.ts';
import type { Content, Stored } from './columns.ts';
import { nameOf, type Name } from './find-name.ts';
import { formatInstant } from './instant.ts';
import { markEmail, markNames, showNames, showParticipants } from './marks.ts';
import { AFTER_SPEAKER, cleanText, findAcross, findInSpeaker, findLabels, findWhole } from './transcript.ts';

/** The version of the form of the stored texts. With a new one, the next import reads an unchanged line again, and writes its call if the texts differ. */
export const FORM = 3;

/** The parts of `shown` in their order. Each is a list of members with a comma before each of them; `language` is a value. `head` follows the state and the times. */
const PARTS = [
  ...(['head', 'segment', 'source', 'rating', 'cost'] as const),
  ...(['name', 'jobTitle', 'employer', 'country', 'bio'] as const),
  ...(['participants', 'summary', 'keyTakeaways', 'qaBlocks', 'language'] as const),
] as const;

export type Parts = Record<(typeof PARTS)[number], string>;

/** JSON text never holds this character, because it escapes the control characters of its strings. */
const BETWEEN = '\u001f';

/** The parts of `item` in their order. Each is a list of members; all but the first begin with a comma. */
export interface ItemParts {
  head: string;
  segment: string;
  source: string;
  hasTranscript: string;
}

const HAS_TRANSCRIPT = ',"has_transcript":true';
/** For calls without a transcript, and for those who may see none. */
export const HAS_NO_TRANSCRIPT = ',"has_transcript":false';

/** The text of `item` before the times of the call, and the text after them. */
export function itemAroundTimes(record: Omit<CallRecord, 'transcripts'>, hasVerbatim: boolean): [before: string, after: string] {
  const date = record.date && formatInstant(record.date);
  const state = { date, call_type: record.callType, call_status: record.callStatus, project_id: record.projectId };
  const parts = [
    `,${JSON.stringify(state).slice(1, -1)}`,
    member('segment', record.segment),
    member('source', record.source),
    hasVerbatim ? HAS_TRANSCRIPT : HAS_NO_TRANSCRIPT,
  ];
  return [`"call_id":${JSON.stringify(record.callId)}${member('duration_minutes', record.durationMinutes)}`, parts.join(BETWEEN)];
}

export function itemPartsOf(item: string): ItemParts {
  const [head, segment, source, hasTranscript] = item.split(BETWEEN);
  return { head: head!, segment: segment!, source: source!, hasTranscript: hasTranscript! };
}

/** The text of `shown` before the times of the call, and the text after them. */
export function aroundTimes(record: Omit<CallRecord, 'transcripts'>): [before: string, after: string] {
  const name = nameOf(record.name);
  const { callId, projectId, callType, callStatus, anonymityStatus, date } = record;
  const state = {
    call_id: callId,
    project_id: projectId,
    call_type: callType,
    call_status: callStatus,
    anonymity_status: anonymityStatus,
    date: date && formatInstant(date),
  };
  const parts: Parts = {
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
    participants: `,"participants":[${storedParticipants(record.participants, name)}]`,
    summary: member('summary', record.summary),
    keyTakeaways: member('key_takeaways', record.ktas) + member('key_takeaways_status', record.ktaApprovalStatus),
    qaBlocks: member(
      'qa_blocks',
      record.qaBlocks.map(({ id, question, answer, section }) => ({ id, question, answer, section })),
    ),
    language: JSON.stringify(record.language),
  };
  return [JSON.stringify(state).slice(1, -1), PARTS.map((part) => parts[part]).join(BETWEEN)];
}

/** The times of the call, as they stand in `item` and `shown`. */
export function timesOf({ createdAt, updatedAt }: { createdAt: Date; updatedAt: Date }): string {
  return `,"created_at":"${formatInstant(createdAt)}","updated_at":"${formatInstant(updatedAt)}"`;
}

export function partsOf({ shown }: Pick<Stored, 'shown'>): Parts {
  const stored = shown.split(BETWEEN);
  const parts = {} as Parts;
  for (let i = 0; i < PARTS.length; i++) parts[PARTS[i]!] = stored[i]!;
  return parts;
}

/** The transcripts of a record, as their columns. */
export function storedTranscripts({
  name: interviewee,
  qaBlocks,
  transcripts,
}: Pick<CallRecord, 'name' | 'qaBlocks' | 'transcripts'>): Omit<Stored, 'shown'> {
  const name = nameOf(interviewee);
  const clean = cleanText(qaBlocks);
  const stored: Omit<Stored, 'shown'> = {
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
    } else [stored[kind], stored[`${kind}Segments`]] = storedSegments(content, name);
  }
  return stored;
}

/** The content as an import brought it. */
export function readContent(stored: Pick<Stored, 'shown'>): Content & { qaBlocks: QaBlock[] } {
  const { bio, participants, summary, keyTakeaways, qaBlocks, language } = partsOf(stored);
  const members = bio + showParticipants(participants, true, undefined) + summary + keyTakeaways + qaBlocks;
  const { qa_blocks, key_takeaways, key_takeaways_status, ...content } = JSON.parse(`{${members.slice(1)}}`);
  return {
    ...content,
    language: JSON.parse(language),
    ktas: key_takeaways,
    ktaApprovalStatus: key_takeaways_status,
    qaBlocks: qa_blocks,
  };
}

/** The transcripts as an import brought them. */
export function readTranscripts(stored: Stored): Transcript[] {
  return (['verbatim', 'redacted'] as const).flatMap((kind) => {
    const [text, segments] = [stored[kind], stored[`${kind}Segments`]];
    if (text === null || segments === null) return [];
    return [{ kind, content: JSON.parse(showNames(segments === '[]' ? text : segments, undefined)) }];
  });
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

function storedParticipants(participants: readonly Participant[], interviewee: Name | undefined): string {
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

function storedSegments(segments: Segment[], name: Name | undefined): [text: string, segments: string] {
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
