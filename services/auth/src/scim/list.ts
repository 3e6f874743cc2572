import { unstorable } from '@crs/kit/text';
import { LIST_SCHEMA } from './schema-urns.ts';
import { invalidValue } from './scim-error.ts';

const MAX_COUNT = 200;
const DEFAULT_COUNT = 100;
const INTEGER = /^[+-]?\d{1,9}$/;

/** What a query selects. */
export interface ListQuery {
  filter: string | undefined;
  /** From 1 on. */
  startIndex: number;
  /** 0: only the number of all. */
  count: number;
  selection: Selection;
}

/** Names of attributes to return, in lower case. */
export interface Selection {
  only: Set<string> | undefined;
  without: Set<string>;
}

/** RFC 7644, section 3.4.2.4: numbers that are too low count as the lowest. @throws ScimError */
export function parseListQuery(parameters: URLSearchParams): ListQuery {
  return {
    filter: parameters.get('filter') ?? undefined,
    startIndex: Math.max(1, integerOf(parameters, 'startIndex') ?? 1),
    count: Math.min(MAX_COUNT, Math.max(0, integerOf(parameters, 'count') ?? DEFAULT_COUNT)),
    selection: parseSelection(parameters),
  };
}

export function parseSelection(parameters: URLSearchParams): Selection {
  const only = namesOf(parameters.get('attributes'));
  return { only: only.size > 0 ? only : undefined, without: namesOf(parameters.get('excludedAttributes')) };
}

/** Names of sub-attributes count as their attribute. */
function namesOf(list: string | null): Set<string> {
  const names = (list ?? '').split(',').map((path) => path.trim().split(':').at(-1)!.split('.')[0]!.toLowerCase());
  return new Set(names.filter((name) => name !== ''));
}

function integerOf(parameters: URLSearchParams, name: string): number | undefined {
  const text = parameters.get(name);
  if (text === null || text === '') return undefined;
  if (!INTEGER.test(text)) throw invalidValue(name, 'must be a number');
  return Number(text);
}

const ALWAYS = new Set(['schemas', 'id', 'meta']);

export function isSelected({ only, without }: Selection, attribute: string): boolean {
  const name = attribute.toLowerCase();
  return ALWAYS.has(name) || (only?.has(name) ?? !without.has(name));
}

/** Removes the attributes that weren't requested, and those without a value. */
export function select(resource: Record<string, unknown>, selection: Selection): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(resource).filter(([name, value]) => value !== null && value !== undefined && isSelected(selection, name)),
  );
}

export function listResponse(total: number, startIndex: number, resources: object[]): object {
  return { schemas: [LIST_SCHEMA], totalResults: total, startIndex, itemsPerPage: resources.length, Resources: resources };
}

/** A value to compare. Undefined: PostgreSQL would refuse it, and nothing stored has it. */
export function storableOf(value: string): string | undefined {
  return unstorable(value) === undefined ? value : undefined;
}

export function metaOf(
  resourceType: string,
  { createdAt, updatedAt }: { createdAt: Date; updatedAt: Date },
  location: string,
): object {
  return { resourceType, created: createdAt.toISOString(), lastModified: updatedAt.toISOString(), location };
}
