/** Erases a person from the import line of a call. */
import { fold } from '@crs/kit/text';
import {
  findAcross,
  findInSpeaker,
  findLabels,
  isName,
  joinPatterns,
  linesInChunks,
  toNamePattern,
  type NamePattern,
  type Span,
} from '../stored-json/index.ts';
import type { Line, LineParticipant, LineSegment, LineTranscript } from './line.ts';
import type { Recognizer } from './person.ts';

/** Stands in place of a speaker or label. */
export const ERASED = '[erased]';

export interface Erasure {
  /** The line without the person. */
  line: Line;
  /** Paths of what was emptied, as documents write them: `participants[].name`. */
  fields: string[];
  /** The names by which the person occurs in the call. */
  names: NamePattern[];
  /** The call's expert is somebody else of the same name, so the name in the call isn't the person's. */
  isNamesake: boolean;
}

/** Empties each field that is the person's. Running text stays as it is. */
export function erasePerson(line: Line, person: Recognizer): Erasure {
  const participants = line.participants ?? [];
  const withEmail = participants.filter(({ email }) => person.byEmail && email !== undefined && person.hasEmail(email));
  const patterns = person.byEmail ? withEmail.flatMap(({ name }) => toNamePattern(name ?? null) ?? []) : person.namesFor(line);
  const names = joinPatterns(patterns);
  const isTheirs = (name: string | undefined) => name !== undefined && names.some((each) => isName(name, each));
  const { expert } = line;
  const isExpert = isTheirs(expert?.name);
  if (isExpert && !person.hasEmployer(expert?.organization ?? null)) return { line, fields: [], names, isNamesake: true };

  const fields = new Set<string>();
  const erased: Line = { ...line };
  if (isExpert) {
    for (const property of Object.keys(expert!)) fields.add(`expert.${property}`);
    if (line.anonymized_name !== undefined) fields.add('anonymized_name');
    delete erased.expert;
    delete erased.anonymized_name;
  }
  const own = new Set(participants.filter((each) => withEmail.includes(each) || isTheirs(each.name)));
  if (own.size > 0) erased.participants = eraseParticipants(participants, own, fields);
  for (const property of ['transcript', 'redacted_transcript'] as const) {
    const content = line[property];
    if (content !== undefined) erased[property] = eraseLabels(content, names, (path) => fields.add(`${property}${path}`));
  }
  return { line: fields.size > 0 ? erased : line, fields: [...fields], names, isNamesake: false };
}

function eraseParticipants(participants: LineParticipant[], own: Set<LineParticipant>, fields: Set<string>): LineParticipant[] {
  // Someone who joined twice is listed twice, possibly under a name that isn't recognized, such as `Eva's phone`.
  const emails = new Set([...own].flatMap(({ email }) => (email === undefined ? [] : fold(email))));
  return participants.map((each) => {
    const { name, email, ...rest } = each;
    const keepsEmail = email === undefined || !(own.has(each) || emails.has(fold(email)));
    const keepsName = name === undefined || !own.has(each);
    if (!keepsName) fields.add('participants[].name');
    if (!keepsEmail) fields.add('participants[].email');
    return { ...(keepsName && name !== undefined && { name }), ...rest, ...(keepsEmail && email !== undefined && { email }) };
  });
}

/** @param found is called with the path of each replaced speaker or label */
function eraseLabels(content: LineTranscript, names: NamePattern[], found: (path: string) => void): LineTranscript {
  return names.reduce<LineTranscript>((erased, name) => {
    if (typeof erased !== 'string') return eraseInSegments(erased, name, found);
    return [...linesInChunks(erased)].map((chunk) => replaceAt(chunk, findLabels(chunk, name), () => found(''))).join('');
  }, content);
}

function eraseInSegments(segments: LineSegment[], name: NamePattern, found: (path: string) => void): LineSegment[] {
  // A transcript has thousands of segments and a few speakers.
  const spansOf = new Map<string, Span[]>();
  return segments.map((segment) => {
    const { speaker, text } = segment;
    const across = findAcross(speaker ?? null, text, name);
    const inText = across?.inText ?? findLabels(text, name);
    const inSpeaker = across?.inSpeaker ?? spansOf.get(speaker ?? '') ?? findInSpeaker(speaker ?? '', name);
    if (!across) spansOf.set(speaker ?? '', inSpeaker);
    if (inText.length === 0 && inSpeaker.length === 0) return segment;
    return {
      ...segment,
      ...(speaker !== undefined && { speaker: replaceAt(speaker, inSpeaker, () => found('[].speaker')) }),
      text: replaceAt(text, inText, () => found('[].text')),
    };
  });
}

function replaceAt(text: string, spans: readonly Span[], found: () => void): string {
  if (spans.length === 0) return text;
  found();
  let result = '';
  let at = 0;
  for (const [start, end] of spans) {
    result += text.slice(at, start) + ERASED;
    at = end;
  }
  return result + text.slice(at);
}
