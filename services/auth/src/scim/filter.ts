import { withoutUrn } from './schema-urns.ts';
import { ScimError } from './scim-error.ts';

/** One comparison of a filter: an attribute equals a value. */
export interface Comparison {
  attribute: string;
  value: string;
}

/**
 * One comparison, from the regular expression's `lastIndex` on: a name, `eq` and a value. No text matches in two ways, so matching takes
 * linear time. All attributes that can be compared are strings, so a number or another word of JSON is read as one.
 */
const COMPARISON = /\s*([A-Za-z][\w.:$-]*)\s+eq\s+(?:("(?:[^"\\]|\\.)*")|(true|false|null|-?\d[\d.eE+-]*))/iy;
const AND = /\s+and\b/iy;
const REST = /\s*$/y;

/**
 * Parses a filter of `eq` comparisons that are joined by `and`.
 * @param known attributes that can be compared
 * @throws ScimError invalidFilter
 */
export function parseFilter(text: string, known: readonly string[]): Comparison[] {
  const comparisons: Comparison[] = [];
  let position = 0;
  const take = (pattern: RegExp) => {
    pattern.lastIndex = position;
    const match = pattern.exec(text);
    if (match) position = pattern.lastIndex;
    return match;
  };
  do {
    const match = take(COMPARISON);
    if (!match) throw invalidFilter(known);
    const [, name, quoted, word] = match;
    const attribute = known.find((each) => each.toLowerCase() === withoutUrn(name!).toLowerCase());
    if (!attribute) throw invalidFilter(known);
    comparisons.push({ attribute, value: quoted === undefined ? word! : unquote(quoted, known) });
  } while (take(AND));
  if (!take(REST)) throw invalidFilter(known);
  return comparisons;
}

function unquote(quoted: string, known: readonly string[]): string {
  try {
    return JSON.parse(quoted) as string;
  } catch {
    throw invalidFilter(known);
  }
}

function invalidFilter(known: readonly string[]): ScimError {
  const detail = `A filter compares ${known.join(', ')} by "eq", and joins comparisons by "and".`;
  return new ScimError(400, detail, { scimType: 'invalidFilter' });
}
