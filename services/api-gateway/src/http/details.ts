import { z } from 'zod';
import { invalid } from '@crs/kit/errors';
import { flag } from './query.ts';

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
