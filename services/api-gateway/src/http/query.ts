import { z } from 'zod';
import { invalid } from '@crs/kit/errors';
import type { AccessLogFields } from '@crs/kit/http/access-log';
import { parseTimestamp, unstorable } from '@crs/kit/text';

/** The schema of a query without parameters. */
export const NO_PARAMETERS = z.object({});

/**
 * Parses the query of a request by a schema of strings. An invalid or unknown parameter is an error, never ignored or clamped.
 * @throws ServiceError invalid_argument
 */
export function parseQuery<S extends z.ZodObject>(url: string, schema: S): z.infer<S> {
  const start = url.indexOf('?');
  const given: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(start < 0 ? '' : url.slice(start))) {
    if (!Object.hasOwn(schema.shape, name)) {
      throw invalid(
        name.slice(0, 100).toWellFormed() || 'a parameter without a name',
        `isn't a parameter here. Allowed: ${Object.keys(schema.shape).join(', ') || 'none'}`,
      );
    }
    if (Object.hasOwn(given, name)) throw invalid(name, 'must be given once');
    if (value === '') throw invalid(name, 'must not be empty; leave it out instead');
    const problem = unstorable(value);
    if (problem) throw invalid(name, problem);
    given[name] = value;
  }
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const issue = result.error.issues[0]!;
  throw invalid(issue.path.join('.'), issue.message);
}

// The schemas parse text. `wire` is the type of the parameter in the OpenAPI document.

/** A whole number in decimal digits without leading zeros. */
export function wholeNumber(min: number, max: number) {
  const problem = `must be a whole number from ${min} to ${max}, in digits`;
  return z
    .string()
    .regex(/^(0|[1-9]\d{0,15})$/, problem)
    .transform(Number)
    .refine((value) => value >= min && value <= max, problem)
    .meta({ wire: { type: 'integer', minimum: min, maximum: max } });
}

/** `true` or `false`. */
export const flag = z
  .enum(['true', 'false'], 'must be true or false')
  .transform((value) => value === 'true')
  .meta({ wire: { type: 'boolean' } });

/** Matches a date-time with a space in place of `+`: in a query, an unescaped `+` means a space. */
const RAW_PLUS = /^[\d-]{10}[Tt]\S{1,30} \d\d:\d\d$/;

/** An RFC 3339 date-time with an offset, truncated to the millisecond. */
export const timestamp = z
  .string('is required: an RFC 3339 date-time such as 2026-01-31T00:00:00Z')
  .transform((text, context) => {
    const date = parseTimestamp(text);
    if (date) return date;
    context.addIssue(
      RAW_PLUS.test(text)
        ? 'must be an RFC 3339 date-time; a "+" in a URL means a space, so write the offset as %2B01:00 or use Z'
        : 'must be an RFC 3339 date-time with "Z" or an offset, such as 2026-01-31T00:00:00Z, in the years 0001 to 9999',
    );
    return z.NEVER;
  })
  .meta({ wire: { type: 'string', format: 'date-time' } });

/** The default of `limit`. */
export const DEFAULT_LIMIT = 100;

/** A cursor of an earlier response. */
export const cursor = z.string().max(1_000, 'must be a `next_cursor` of an earlier answer').optional();

/** The number of items on a page of a list with cursors. */
export const limit = wholeNumber(1, 1_000).optional();

/** Parameters of a list with cursors. */
export const LIST = z.object({
  cursor: cursor.describe('The `next_cursor` of the previous response. Absent: the first page.'),
  limit: limit.describe('The maximum number of items on a page. Digits without leading zeros. Default: 100.'),
});

/** Parses the query of a list with cursors. @param logFields gets it without the cursor @throws ServiceError invalid_argument */
export function parseList(url: string, logFields: AccessLogFields): { cursor: string | undefined; limit: number } {
  const { cursor: from, limit: size = DEFAULT_LIMIT } = parseQuery(url, LIST);
  logFields.query = { limit: size, ...(from !== undefined && { cursor: true }) };
  return { cursor: from, limit: size };
}

/** Parameters that exclude transcripts from details. */
export const INCLUDE = {
  include_verbatim: flag.describe('Whether to return the verbatim transcript.'),
  include_redacted: flag.describe('Whether to return the redacted transcript.'),
  include_clean: flag.describe('Whether to return the questions and answers as a transcript.'),
};

const forDetails = (each: typeof flag, meaning: string) =>
  each.optional().describe(`${meaning} Needs \`expand=detail\`; default: true.`);

/** Parameters of a list whose items may be details. */
export const EXPAND = {
  expand: z
    .enum(['detail'], 'must be detail')
    .optional()
    .describe('`detail`: each call in full, as `GET /calls/{call_id}` returns it.'),
  include_verbatim: forDetails(flag, 'Whether details contain the verbatim transcript.'),
  include_redacted: forDetails(flag, 'Whether details contain the redacted transcript.'),
  include_clean: forDetails(flag, 'Whether details contain the questions and answers as a transcript.'),
};

type Include = { [K in keyof typeof INCLUDE]?: boolean | undefined };

/** Converts the flags to those of the calls service, which name what to exclude. */
export function withoutOf({ include_verbatim: verbatim, include_redacted: redacted, include_clean: clean }: Include) {
  return { withoutVerbatim: verbatim === false, withoutRedacted: redacted === false, withoutClean: clean === false };
}

/**
 * Reads the parameters of {@link EXPAND} and the page size, which is smaller with details.
 * @param size the name of the page size parameter
 * @throws ServiceError invalid_argument
 */
export function parseExpand<Size extends string>(
  parameters: Include & { expand?: 'detail' | undefined } & { [K in Size]?: number | undefined },
  size: Size,
  defaultSize: number,
) {
  const withDetails = parameters.expand === 'detail';
  for (const name of Object.keys(INCLUDE) as (keyof Include)[]) {
    if (parameters[name] !== undefined && !withDetails) throw invalid(name, 'needs expand=detail');
  }
  const given: number | undefined = parameters[size];
  if (withDetails && given !== undefined && given > MAX_WITH_DETAILS) {
    throw invalid(size, `must be a whole number from 1 to ${MAX_WITH_DETAILS} with expand=detail, in digits`);
  }
  return { withDetails, size: given ?? (withDetails ? DEFAULT_WITH_DETAILS : defaultSize), ...withoutOf(parameters) };
}

const MAX_WITH_DETAILS = 50;
const DEFAULT_WITH_DETAILS = 25;
