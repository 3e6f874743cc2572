/** JSON text never holds this character, because it escapes the control characters of its strings. */
const BETWEEN = '\u001f';

/** The parts of a list item in their order. Each is a list of members; all but the first begin with a comma. The times of the call end the first. */
const LIST_ITEM_PARTS = ['head', 'segment', 'source', 'hasTranscript'] as const;

/** The parts of a detail in their order. Each is a list of members with a comma before each of them; `language` is a value. `head` follows the state and the times. */
const DETAIL_PARTS = [
  ...(['head', 'segment', 'source', 'rating', 'cost'] as const),
  ...(['name', 'jobTitle', 'employer', 'country', 'bio'] as const),
  ...(['participants', 'summary', 'keyTakeaways', 'qaBlocks', 'language'] as const),
] as const;

type ListItemParts = Record<(typeof LIST_ITEM_PARTS)[number], string>;
export type DetailParts = Record<(typeof DETAIL_PARTS)[number], string>;

export const joinListItem = (parts: ListItemParts) => LIST_ITEM_PARTS.map((part) => parts[part]).join(BETWEEN);
export const joinDetail = (parts: DetailParts) => DETAIL_PARTS.map((part) => parts[part]).join(BETWEEN);

export const splitListItem = (text: string): ListItemParts => split(text, LIST_ITEM_PARTS);
export const splitDetail = (text: string): DetailParts => split(text, DETAIL_PARTS);

function split<Part extends string>(text: string, names: readonly Part[]): Record<Part, string> {
  const texts = text.split(BETWEEN);
  const parts = {} as Record<Part, string>;
  for (const [i, name] of names.entries()) parts[name] = texts[i]!;
  return parts;
}
