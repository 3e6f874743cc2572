/**
 * Marks in JSON text, around names, which some callers see replaced, and e-mails, which some don't see. They never nest. They are control
 * characters, which JSON text itself never holds: it escapes those of its strings.
 */

interface Mark {
  start: string;
  end: string;
}

const NAME: Mark = { start: '\u0001', end: '\u0002' };
const EMAIL: Mark = { start: '\u0003', end: '\u0004' };
/** Of the interviewee: who sees another name doesn't see the e-mail, because it would tell the recorded name. */
const INTERVIEWEE_EMAIL: Mark = { start: '\u0005', end: '\u0006' };

/** Where a part of a text begins, and where it has ended. */
export type Span = readonly [start: number, end: number];

/** The parts of spans that lie in a part of the text, as spans of that part. */
export function within(spans: readonly Span[], from: number, to: number): Span[] {
  return spans
    .map(([start, end]) => [Math.max(start, from) - from, Math.min(end, to) - from] as const)
    .filter(([start, end]) => start < end);
}

/** The text as the inside of a JSON string, with marks around each name. @param names in ascending order; they don't overlap */
export function markNames(text: string, names: readonly Span[]): string {
  let marked = '';
  let at = 0;
  for (const [start, end] of names) {
    marked += inside(text.slice(at, start)) + NAME.start + inside(text.slice(start, end)) + NAME.end;
    at = end;
  }
  return marked + inside(at === 0 ? text : text.slice(at));
}

/** @param member a member of an object, with the comma before it */
export function markEmail(member: string, isInterviewees: boolean): string {
  const { start, end } = isInterviewees ? INTERVIEWEE_EMAIL : EMAIL;
  return start + member + end;
}

/** The JSON without marks. @param name takes the place of each marked name; undefined: they stay as recorded */
export function showNames(marked: string, name: string | undefined): string {
  const shown = name === undefined ? undefined : inside(name);
  return replaceMarked(marked, NAME, (recorded) => shown ?? recorded);
}

/**
 * The JSON of participants without marks.
 * @param name as of {@link showNames}; the interviewee's e-mail is left out with it
 */
export function showParticipants(marked: string, showsEmails: boolean, name: string | undefined): string {
  const others = replaceMarked(marked, EMAIL, (member) => (showsEmails ? member : ''));
  const all = replaceMarked(others, INTERVIEWEE_EMAIL, (member) => (showsEmails && name === undefined ? member : ''));
  return showNames(all, name);
}

/** In UTF-16 code units: little enough to be shown and encoded well within a turn of the event loop. */
const PIECE_LENGTH = 32 * 1024;

/** Divides marked JSON, so that a long text can be shown and encoded in steps. No piece ends inside a mark or a surrogate pair. */
export function* piecesOf(marked: string): Generator<string> {
  for (let at = 0; at < marked.length;) {
    const end = endOfPiece(marked, at);
    yield marked.slice(at, end);
    at = end;
  }
}

function endOfPiece(marked: string, from: number): number {
  const end = from + PIECE_LENGTH;
  if (end >= marked.length) return marked.length;
  const piece = marked.slice(from, end);
  const open = [NAME, EMAIL, INTERVIEWEE_EMAIL].find((mark) => piece.lastIndexOf(mark.start) > piece.lastIndexOf(mark.end));
  if (open) return marked.indexOf(open.end, end) + 1;
  const isPairDivided = (marked.charCodeAt(end - 1) & 0xfc00) === 0xd800;
  return isPairDivided ? end + 1 : end;
}

function replaceMarked(text: string, { start, end }: Mark, shown: (part: string) => string): string {
  let result = '';
  let done = 0;
  for (let from = text.indexOf(start); from !== -1; from = text.indexOf(start, done)) {
    const to = text.indexOf(end, from);
    result += text.slice(done, from) + shown(text.slice(from + 1, to));
    done = to + 1;
  }
  return done === 0 ? text : result + text.slice(done);
}

/** The text as it stands between the quotes of a JSON string. */
function inside(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
