import { z } from 'zod';
import { closedObject, text as storableText } from '@crs/records/import-record';
import { parseTimestamp, parseUuid } from '@crs/kit/text';
import { UNUSABLE } from './cursor.ts';

/** Names by which a model tries to pass search terms. */
const SEARCH = /^(?:q|query|search|search_?\w{1,20}|text|keywords?|terms?|phrase|question|prompt|contains)$/i;

/** The arguments of a tool. The error for any other argument names these or, for a search, says what to do instead. */
export function argumentsOf<S extends z.ZodRawShape>(shape: S) {
  return closedObject(shape, (name) => (SEARCH.test(name) ? NO_SEARCH : undefined));
}

const NO_SEARCH =
  'is not a known property: there is no text search. Find calls by the filters of list_calls (project, segment, country, job title, ' +
  'employer, source, dates), then read those that may matter with get_call.';

export function text(min: number, max: number, description: string) {
  return storableText(min, max).meta({ description, minLength: min, maxLength: max });
}

/** Text that `parse` turns into a value. @param problem the error if `parse` returns undefined */
function parsed<T>(parse: (text: string) => T | undefined, problem: string) {
  return z.string().transform((text, context) => {
    const value = parse(text);
    if (value !== undefined) return value;
    context.addIssue(problem);
    return z.NEVER;
  });
}

export const projectId = parsed(parseUuid, 'must be a UUID, as list_projects answers it in id').meta({ format: 'uuid' });

const NOT_A_TIMESTAMP = 'must be an RFC 3339 date-time with Z or an offset, such as 2026-01-31T00:00:00Z';

/** An RFC 3339 date-time, truncated to the millisecond. */
export function timestamp(description: string) {
  return parsed(parseTimestamp, NOT_A_TIMESTAMP).meta({ format: 'date-time', description });
}

/** An integer. The range is checked first: otherwise the error for 1e300 would name JavaScript's range of safe integers. */
export function integer(min: number, max: number) {
  return z.number().min(min).max(max).int();
}

export function limit(max: number, standard: number) {
  return integer(1, max).default(standard).describe('Rows a page.');
}

export const cursor = z
  .string()
  .max(4_096, UNUSABLE)
  .optional()
  .describe('next_cursor of the page before, with the same other arguments.');
