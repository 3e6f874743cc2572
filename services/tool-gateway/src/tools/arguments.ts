import { z } from 'zod';
import { closedObject, text as storableText } from '@crs/records/import-record';
import { parseInstant, parseUuid } from '@crs/kit/text';
import { UNUSABLE } from './cursor.ts';

/** Arguments of tools, with their descriptions for models. Absent and null mean the same. */

/** Names under which a model tries to pass words to search for. */
const SEARCH = /^(?:q|query|search|search_?\w{1,20}|text|keywords?|terms?|phrase|question|prompt|contains)$/i;

/** The arguments of a tool. Another argument is refused with the names of these, or, where it wants to search, with what to do instead. */
export function known<S extends z.ZodRawShape>(shape: S) {
  return closedObject(shape, (name) => (SEARCH.test(name) ? NO_SEARCH : undefined));
}

const NO_SEARCH =
  'is not a known property: there is no text search. Find calls by the filters of list_calls (project, segment, country, job title, ' +
  'employer, source, dates), then read those that may matter with get_call.';

export function text(min: number, max: number, description: string) {
  return storableText(min, max).meta({ description, minLength: min, maxLength: max });
}

/** Text that `parse` turns into a value. @param problem the reason against text for which `parse` returns undefined */
function parsed<T>(parse: (text: string) => T | undefined, problem: string) {
  return z.string().transform((text, context) => {
    const value = parse(text);
    if (value !== undefined) return value;
    context.addIssue(problem);
    return z.NEVER;
  });
}

export const projectId = parsed(parseUuid, 'must be a UUID, as list_projects answers it in id').meta({ format: 'uuid' });

const INSTANT = 'must be an RFC 3339 date-time with Z or an offset, such as 2026-01-31T00:00:00Z';

/** An RFC 3339 date-time, cut to the millisecond. */
export function instant(description: string) {
  return parsed(parseInstant, INSTANT).meta({ format: 'date-time', description });
}

/** A whole number. The limits are checked first: otherwise the message about 1e300 would name limits that nobody set. */
export function whole(min: number, max: number) {
  return z.number().min(min).max(max).int();
}

export function limit(max: number, standard: number) {
  return whole(1, max).default(standard).describe('Rows a page.');
}

export const cursor = z
  .string()
  .max(4_096, UNUSABLE)
  .optional()
  .describe('next_cursor of the page before, with the same other arguments.');
