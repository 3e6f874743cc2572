import { fold } from '@crs/kit/text';
import type { QaBlock, Segment, Transcript } from './call.ts';

/** The text of a segmented transcript: a line `speaker: text` for each segment. */
export function flatten(segments: readonly Segment[]): string {
  return segments.map(({ speaker, text }) => (speaker ? `${speaker}: ${text}` : text)).join('\n');
}

/** The text of the `clean` transcript; null where no block says anything. */
export function cleanText(blocks: readonly QaBlock[]): string | null {
  const paragraphs = blocks.map(({ question, answer }) =>
    [question === null ? [] : `Q: ${question}`, answer === null ? [] : `A: ${answer}`].flat().join('\n'),
  );
  return paragraphs.filter((paragraph) => paragraph !== '').join('\n\n') || null;
}

/** One name put in place of another, wherever the first stands for its bearer. Names compare folded and trimmed. */
export interface Renaming {
  folded: string;
  /** How many colons the name itself has. */
  colons: number;
  replacement: string;
}

/** @param name not blank: a blank one would match where nobody is named */
export function renaming(name: string, replacement: string): Renaming {
  return { folded: fold(name.trim()), colons: name.trim().split(':').length - 1, replacement };
}

/** The name as it is shown. */
export function rename(name: string, { folded, replacement }: Renaming): string {
  return fold(name.trim()) === folded ? replacement : name;
}

/** The transcript with the name replaced as a speaker and as a label; what is said stays as it is. */
export function renameIn(transcript: Transcript, to: Renaming): Transcript {
  if (transcript.segments.length === 0) return { ...transcript, text: renameLabels(transcript.text, to) };
  const segments = transcript.segments.map((segment) => ({
    ...segment,
    speaker: segment.speaker === null ? null : renameSpeaker(segment.speaker, to),
    text: renameLabels(segment.text, to),
  }));
  return { ...transcript, segments, text: flatten(segments) };
}

/** A speaker becomes the label of a line, so what that label would be rewritten to (`Eva:`, `Eva: guest`) goes for the speaker too. */
function renameSpeaker(speaker: string, to: Renaming): string {
  const renamed = rename(speaker, to);
  return renamed === speaker ? renameLabels(`${speaker}:`, to).slice(0, -1) : renamed;
}

const LINE = /[^\n\r\v\f\u0085\u2028\u2029]+/g;

/**
 * Replaces the name where it is the label of a line: all that precedes a colon. In a line, only one colon can end that label: the
 * one after as many as the name itself has, since folding makes and takes no colons. So the candidate is cut out of the line as it
 * is written and only then folded; folding may change lengths, and positions in a folded line mean nothing in the line.
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
