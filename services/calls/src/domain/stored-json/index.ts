/**
 * Calls are stored as JSON that REST shows, in parts that a caller sees or doesn't, with marks around the interviewee's name and around
 * e-mails. So a page of list items or details costs no parsing. Only a caller who sees another name has texts written again.
 */
export { encode, FORM } from './encode.ts';
export { render, type DetailRow, type DetailView, type UserCall } from './render.ts';
