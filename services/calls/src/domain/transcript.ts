import { fold } from '@crs/kit/text';
import type { QaBlock, Segment, Transcript } from './call.ts';

/** The text of a segmented transcript: a line `speaker: text` for each segment. */
export function flatten(segments: readonly Segment[]): string {
  return segments.map(({ speaker, text }) => (speaker ? `${speaker}: ${text}` : text)).join('\n');
}

/** The text of the `clean` transcript; null if no block has text. */
export function cleanText(blocks: readonly QaBlock[]): string | null {
  const paragraphs = blocks.map(({ question, answer }) =>
    [question === null ? [] : `Q: ${question}`, answer === null ? [] : `A: ${answer}`].flat().join('\n'),
  );
  return paragraphs.filter((paragraph) => paragraph !== '').join('\n\n') || null;
}

/** The replacement of one name by another. Names are compared folded and trimmed. */
export interface Renaming {
  folded: string;
  /** The number of colons in the name itself. */
  colons: number;
  replacement: string;
}

/** @param name must not be blank, because a blank name would match empty labels */
export function renaming(name: string, replacement: string): Renaming {
  return { folded: fold(name.trim()), colons: name.trim().split(':').length - 1, replacement };
}

/** The name, or its replacement. */
export function rename(name: string, { folded, replacement }: Renaming): string {
  return fold(name.trim()) === folded ? replacement : name;
}

/** The transcript with the name replaced as a speaker and as a label. Spoken text keeps the name. */
export function renameIn(transcript: Transcript, to: Renaming): Transcript {
  if (transcript.segments.length === 0) return { ...transcript, text: renameLabels(transcript.text, to) };
  const segments = transcript.segments.map((segment) => ({
    ...segment,
    speaker: segment.speaker === null ? null : renameSpeaker(segment.speaker, to),
    text: renameLabels(segment.text, to),
  }));
  return { ...transcript, segments, text: flatten(segments) };
}

/** A speaker becomes the label of a line, so speakers such as `Eva:` and `Eva: guest` are rewritten as labels are. */
function renameSpeaker(speaker: string, to: Renaming): string {
  const renamed = rename(speaker, to);
  return renamed === speaker ? renameLabels(`${speaker}:`, to).slice(0, -1) : renamed;
}

const LINE = /[^\n\r\v\f\u0085\u2028\u2029]+/g;

/**
 * Replaces the name where it is the label of a line: the text before a colon. Folding neither adds nor removes colons. So if the name has
 * n colons, the label can only end at colon n + 1 of the line. The candidate is cut out of the line first and folded then, because
 * folding may change lengths: a position in a folded line is no position in the line.
 */
function renameLabels(text: string, { folded, colons, replacement }: Renaming): string {
  return text.replace(LINE, (line) => {
    let end = line.indexOf(':');
    for (let i = 0; i < colons && end !== -1; i++) end = line.indexOf(':', end + 1);
    if (end === -1) return line;
    const candidate = line.slice(0, end);
    const label = candidate.trim();
    if (fold(label) !== folded) return line;
    return candidate.replace(label, () => replacement) + line.slice(end);
  });
}
