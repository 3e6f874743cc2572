/**
 * Calls are stored as the JSON of REST responses, split into the parts that a field mask includes or omits, so that reading them needs no parsing.
 * In the stored texts, placeholders mark the interviewee's name and e-mail address. They are removed for organizations that see the original name, and
 * replaced by another name for organizations that have anonymization turned on.
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
