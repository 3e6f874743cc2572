/**
 * Placeholders in stored JSON: a name that some callers see replaced, or an e-mail that some don't see, between two control characters. JSON
 * escapes the control characters of its strings, so texts can't forge one. Placeholders never nest.
 */

interface Delimiters {
  start: string;
  end: string;
}

const NAME: Delimiters = { start: '\u0001', end: '\u0002' };
const EMAIL: Delimiters = { start: '\u0003', end: '\u0004' };
/** Omitted where the name is replaced, because the e-mail could reveal the recorded name. */
const INTERVIEWEE_EMAIL: Delimiters = { start: '\u0005', end: '\u0006' };

/** A range of a text, in UTF-16 code units. */
export type Span = readonly [start: number, end: number];

/** Returns what lies between two positions, relative to the first. */
export function clipSpans(spans: readonly Span[], from: number, to: number): Span[] {
  return spans
    .map(([start, end]) => [Math.max(start, from) - from, Math.min(end, to) - from] as const)
    .filter(([start, end]) => start < end);
}

/** Returns the text as the inside of a JSON string, with a placeholder for each name. @param names ascending, without overlaps */
export function withNamePlaceholders(text: string, names: readonly Span[]): string {
  let json = '';
  let at = 0;
  for (const [start, end] of names) {
    json += escapeJson(text.slice(at, start)) + NAME.start + escapeJson(text.slice(start, end)) + NAME.end;
    at = end;
  }
  return json + escapeJson(at === 0 ? text : text.slice(at));
}

/** @param member the e-mail as a member of an object, with the comma before it */
export function emailPlaceholder(member: string, isInterviewees: boolean): string {
  const { start, end } = isInterviewees ? INTERVIEWEE_EMAIL : EMAIL;
  return start + member + end;
}

/** Replaces each name by `name`; undefined keeps the recorded names. */
export function fillNames(json: string, name: string | undefined): string {
  const replacement = name === undefined ? undefined : escapeJson(name);
  return fill(json, NAME, (recorded) => replacement ?? recorded);
}

/** Fills the placeholders of participants. @param name as for {@link fillNames}; a replaced name also omits the interviewee's e-mail */
export function fillParticipants(json: string, showsEmails: boolean, name: string | undefined): string {
  const others = fill(json, EMAIL, (member) => (showsEmails ? member : ''));
  const all = fill(others, INTERVIEWEE_EMAIL, (member) => (showsEmails && name === undefined ? member : ''));
  return fillNames(all, name);
}

/** In UTF-16 code units: small enough to fill and encode within one turn of the event loop. */
const CHUNK_LENGTH = 32 * 1024;

/** Splits stored JSON, so that a long text can be rendered in steps. No chunk ends inside a placeholder or a surrogate pair. */
export function* chunksOf(json: string): Generator<string> {
  for (let at = 0; at < json.length;) {
    const end = endOfChunk(json, at);
    yield json.slice(at, end);
    at = end;
  }
}

function endOfChunk(json: string, from: number): number {
  const end = from + CHUNK_LENGTH;
  if (end >= json.length) return json.length;
  const chunk = json.slice(from, end);
  const open = [NAME, EMAIL, INTERVIEWEE_EMAIL].find((each) => chunk.lastIndexOf(each.start) > chunk.lastIndexOf(each.end));
  if (open) return json.indexOf(open.end, end) + 1;
  const splitsPair = (json.charCodeAt(end - 1) & 0xfc00) === 0xd800;
  return splitsPair ? end + 1 : end;
}

function fill(json: string, { start, end }: Delimiters, contentOf: (recorded: string) => string): string {
  let result = '';
  let done = 0;
  for (let from = json.indexOf(start); from !== -1; from = json.indexOf(start, done)) {
    const to = json.indexOf(end, from);
    result += json.slice(done, from) + contentOf(json.slice(from + 1, to));
    done = to + 1;
  }
  return done === 0 ? json : result + json.slice(done);
}

/** Returns what stands between the quotes of a JSON string. */
function escapeJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
