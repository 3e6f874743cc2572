/** Can't occur in JSON, which escapes the control characters of its strings. */
const SEPARATOR = '\u001f';

/** The parts of a list item, in order. Each is a list of object members, and all but the first begin with a comma. A stored item starts with the id, duration and times, which `head` continues. */
const LIST_ITEM_PARTS = ['head', 'segment', 'source', 'hasTranscript'] as const;

/** The parts of a detail, in order. Each is a list of object members with a comma before each; `language` is a value. A stored detail starts with the state and the times, which `head` continues. */
const DETAIL_PARTS = [
  ...(['head', 'segment', 'source', 'rating', 'cost'] as const),
  ...(['name', 'jobTitle', 'employer', 'country', 'bio'] as const),
  ...(['participants', 'summary', 'keyTakeaways', 'qaBlocks', 'language'] as const),
] as const;

type ListItemParts = Record<(typeof LIST_ITEM_PARTS)[number], string>;
export type DetailParts = Record<(typeof DETAIL_PARTS)[number], string>;

export const joinListItem = (parts: ListItemParts) => LIST_ITEM_PARTS.map((part) => parts[part]).join(SEPARATOR);
export const joinDetail = (parts: DetailParts) => DETAIL_PARTS.map((part) => parts[part]).join(SEPARATOR);

export const splitListItem = (text: string): ListItemParts => split(text, LIST_ITEM_PARTS);
export const splitDetail = (text: string): DetailParts => split(text, DETAIL_PARTS);

function split<Part extends string>(text: string, names: readonly Part[]): Record<Part, string> {
  const texts = text.split(SEPARATOR);
  const parts = {} as Record<Part, string>;
  for (const [i, name] of names.entries()) parts[name] = texts[i]!;
  return parts;
}
