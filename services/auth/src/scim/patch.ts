import { PATCH_SCHEMA, withoutUrn } from './schema-urns.ts';
import { ScimError } from './scim-error.ts';

/** What one operation does to one attribute. */
export interface AttributeChange {
  op: 'add' | 'replace' | 'remove';
  /** In lower case, such as `displayname` or `name`. */
  attribute: string;
  /** In lower case, such as `givenname` of `name`. */
  subAttribute: string | undefined;
  /** The value that a filter such as `members[value eq "..."]` compares `value` with. Absent: no filter. */
  filterValue: string | undefined;
  /** Undefined for a removal without a value. */
  value: unknown;
}

const OPERATIONS = new Set(['add', 'replace', 'remove']);
const MAX_OPERATIONS = 1_000;
const MAX_PATH = 1_000;
/** The path of an attribute of another schema, or the schema itself, which stands for all of them. */
const OTHER_SCHEMA = /^urn:/i;
const PATH = /^([A-Za-z][\w$-]*)(?:\[([^\]]*)\])?(?:\.([A-Za-z][\w$-]*))?$/;
const VALUE_FILTER = /^\s*([A-Za-z][\w$-]*)\s+eq\s+("(?:[^"\\]|\\.)*"|true|false)\s*$/i;

/**
 * Reads a PATCH as directories send it, which is more than RFC 7644 allows: `op` in any case (Entra: `Add`), and without a path also
 * names with dots (Entra: `{"name.givenName": "Ann"}`).
 * @throws ScimError
 */
export function parsePatch(body: unknown): AttributeChange[] {
  const { schemas, Operations: operations } = objectOf(body) ?? {};
  if (!Array.isArray(schemas) || !schemas.includes(PATCH_SCHEMA)) throw invalidSyntax(`schemas must contain "${PATCH_SCHEMA}".`);
  if (!Array.isArray(operations) || operations.length === 0) throw invalidSyntax('Operations must be a list with operations.');
  if (operations.length > MAX_OPERATIONS) throw invalidSyntax(`Operations must be at most ${MAX_OPERATIONS}.`);
  return operations.flatMap(parseOperation);
}

function parseOperation(operation: unknown): AttributeChange[] {
  const { op, path, value } = objectOf(operation) ?? {};
  const name = typeof op === 'string' ? op.toLowerCase() : '';
  if (!isOperation(name)) throw invalidSyntax('op must be add, replace or remove.');
  if (name !== 'remove' && value === undefined) throw invalidSyntax(`An operation "${name}" needs a value.`);
  if (path !== undefined && path !== null && path !== '')
    return parsePath(path).map((target) => ({ op: name, ...target, value }));
  if (name === 'remove') throw new ScimError(400, 'A removal needs a path.', { scimType: 'noTarget' });
  const attributes = objectOf(value);
  if (!attributes) throw invalidSyntax('Without a path, the value must be an object.');
  return Object.entries(attributes).flatMap(([key, each]) =>
    parsePath(key).map((target) => ({ op: name, ...target, value: each })),
  );
}

function isOperation(name: string): name is AttributeChange['op'] {
  return OPERATIONS.has(name);
}

/** @returns no target for an attribute of a schema that this server doesn't have */
function parsePath(path: unknown): Pick<AttributeChange, 'attribute' | 'subAttribute' | 'filterValue'>[] {
  if (typeof path !== 'string' || path.length > MAX_PATH) throw invalidPath();
  const local = withoutUrn(path.trim());
  if (OTHER_SCHEMA.test(local)) return [];
  const match = PATH.exec(local);
  if (!match) throw invalidPath();
  const [, attribute, filter, subAttribute] = match;
  return [
    {
      attribute: attribute!.toLowerCase(),
      subAttribute: subAttribute?.toLowerCase(),
      filterValue: filter === undefined ? undefined : parseValueFilter(filter),
    },
  ];
}

/** Only the filter of members matters. Filters of attributes that are ignored, such as `emails[type eq "work"]`, have no value to keep. */
function parseValueFilter(filter: string): string {
  const match = VALUE_FILTER.exec(filter);
  if (!match) throw invalidPath();
  try {
    return match[1]!.toLowerCase() === 'value' ? String(JSON.parse(match[2]!)) : '';
  } catch {
    throw invalidPath();
  }
}

/** Returns the value if it is an object, but not a list. */
export function objectOf(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
}

export function invalidSyntax(detail: string): ScimError {
  return new ScimError(400, detail, { scimType: 'invalidSyntax' });
}

function invalidPath(): ScimError {
  return new ScimError(400, 'path must name an attribute, as in name.givenName or members[value eq "..."].', {
    scimType: 'invalidPath',
  });
}
