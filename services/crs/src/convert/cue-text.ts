import { decodeHTMLStrict } from 'entities';

/** What one person says in a cue. */
export interface Utterance {
  /** Null if the cue doesn't say. */
  speaker: string | null;
  text: string;
}

/** A tag of WebVTT or HTML, or a timestamp. Another "<" is text. Takes linear time, because no match goes beyond the next "<". */
const TAG = /<(?:\/?(?:[a-z.][^<>]*)?|[\d:.,]+)>/gi;
const VOICE = /^<v(?:\.[^\s>]*)?(?:\s([^>]*))?>$/i;

/** Splits the text of a cue by its voice tags, and removes all tags, entities and line breaks. */
export function readCueText(text: string): Utterance[] {
  const utterances: Utterance[] = [];
  let speaker: string | null = null;
  let parts: string[] = [];
  let start = 0;
  const add = () => {
    const said = plain(parts.join(''));
    if (said !== '') utterances.push({ speaker, text: said });
    parts = [];
  };
  for (const { 0: tag, index } of text.matchAll(TAG)) {
    parts.push(text.slice(start, index));
    start = index + tag.length;
    const voice = VOICE.exec(tag);
    if (!voice && tag !== '</v>') continue;
    add();
    speaker = plain(voice?.[1] ?? '') || null;
  }
  parts.push(text.slice(start));
  add();
  return utterances;
}

/** A no-break space is text, so that prices and units stay together. */
function plain(text: string): string {
  return decodeHTMLStrict(text.replaceAll(/[ \t\n\f]+/g, ' '))
    .replaceAll('\0', '\uFFFD')
    .trim();
}
