/**
 * Calls are stored as REST's JSON, split into the parts that a field mask shows or hides, with placeholders for the interviewee's name and for
 * e-mails. So a page of list items or details needs no parsing, and only callers who see another name have texts rewritten.
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
