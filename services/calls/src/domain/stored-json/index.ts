/**
 * Calls are stored as the JSON of REST responses, split into the parts that a field mask includes or omits, so that reading them needs no parsing.
 * In the stored texts, markers surround each occurrence of the interviewee's name and e-mail address. For organizations that see the original name, only
 * the markers are removed. For those with anonymization turned on, another name replaces the markers and the name, and the address is left out.
 */
export { encode, FORMAT_VERSION } from './encode.ts';
export {
  contentJson,
  renderDetail,
  renderListItem,
  renderToolResult,
  type DetailRow,
  type DetailView,
  type UserCall,
} from './render.ts';
/** How people's names are recognized, for erasing them. */
export { joinPatterns, namesIn, normalizeText, toNamePattern, type NamePattern } from './find-name.ts';
export type { Span } from './placeholders.ts';
export { findAcross, findInSpeaker, findLabels, isName, linesInChunks, namesInLabels } from './transcript.ts';
