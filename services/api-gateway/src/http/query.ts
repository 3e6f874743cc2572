import { z } from 'zod';
import { invalid } from '@crs/kit/errors';
import { parseTimestamp, unstorable } from '@crs/kit/text';

/** The schema of a query without parameters. */
export const NO_PARAMETERS = z.object({});

/**
 * The query of a request, by a schema of strings. A bad parameter is refused by name, never ignored or clamped.
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

// `wire` is the type of a parameter in the OpenAPI document, where the schema reads text.

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

/** A date-time whose offset begins with a space, because a raw `+` in a URL means a space. */
const RAW_PLUS = /^[\d-]{10}[Tt]\S{1,30} \d\d:\d\d$/;

/** An RFC 3339 date-time with offset, cut to the millisecond. */
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

/** Flags that leave transcripts out of details. */
export const INCLUDE = {
  include_verbatim: flag.describe('Whether to answer the word-by-word transcript.'),
  include_redacted: flag.describe('Whether to answer the redacted transcript.'),
  include_clean: flag.describe('Whether to answer the questions and answers as a transcript.'),
};

const whetherDetailed = (each: typeof flag, meaning: string) =>
  each.optional().describe(`${meaning} Needs \`expand=detail\`; true where absent.`);

/** Parameters of a list whose items may be details. */
export const EXPAND = {
  expand: z
    .enum(['detail'], 'must be detail')
    .optional()
    .describe('`detail`: each call is there in full, as `GET /calls/{call_id}` shows it.'),
  include_verbatim: whetherDetailed(flag, 'Whether details have the word-by-word transcript.'),
  include_redacted: whetherDetailed(flag, 'Whether details have the redacted transcript.'),
  include_clean: whetherDetailed(flag, 'Whether details have the questions and answers as a transcript.'),
};

type Include = { [K in keyof typeof INCLUDE]?: boolean | undefined };

/** The flags as the calls service takes them. */
export function withoutOf({ include_verbatim: verbatim, include_redacted: redacted, include_clean: clean }: Include) {
  return { withoutVerbatim: verbatim === false, withoutRedacted: redacted === false, withoutClean: clean === false };
}

/**
 * Reads the parameters of {@link EXPAND}, and the size of the page, which is smaller with details.
 * @param size the parameter that says how many calls a page has
 * @throws ServiceError invalid_argument
 */
export function detailsAsked<Size extends string>(
  asked: Include & { expand?: 'detail' | undefined } & { [K in Size]?: number | undefined },
  size: Size,
  usual: number,
) {
  const withDetails = asked.expand === 'detail';
  for (const name of Object.keys(INCLUDE) as (keyof Include)[]) {
    if (asked[name] !== undefined && !withDetails) throw invalid(name, 'needs expand=detail');
  }
  const given: number | undefined = asked[size];
  if (withDetails && given !== undefined && given > MAX_WITH_DETAILS) {
    throw invalid(size, `must be a whole number from 1 to ${MAX_WITH_DETAILS} with expand=detail, in digits`);
  }
  return { withDetails, size: given ?? (withDetails ? USUAL_WITH_DETAILS : usual), ...withoutOf(asked) };
}

const MAX_WITH_DETAILS = 50;
const USUAL_WITH_DETAILS = 25;
