/** Parses import lines into typed records, or refuses them by field and reason. */
import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import { CALL_ID, isEmail, lengthOf, ORGANIZATION_ID, parseTimestamp, parseUuid, unstorable } from '@crs/kit/text';

/** The longest line of an import, without its end. */
export const MAX_LINE_BYTES = 8 * 1024 * 1024;

/** Why a line is invalid. Never contains a value of the line. */
export interface FieldError {
  /** Path of the field, such as `qa_blocks[0].id`; empty for the line as a whole. */
  field: string;
  /** Continues a sentence that starts with the field: `must be ...`. */
  reason: string;
}

/** Parses a line of UTF-8 JSON into the schema's output. Reports only the first problem. */
export function parseLine<S extends z.ZodType>(schema: S, bytes: Uint8Array): { record: z.output<S> } | FieldError {
  const json = parseJson(bytes);
  return 'reason' in json ? json : parseObject(schema, json.value);
}

/** Parses UTF-8 JSON with a bounded number of values. */
export function parseJson(bytes: Uint8Array): { value: unknown } | FieldError {
  if (hasTooManyValues(bytes)) return { field: '', reason: `must have at most ${MAX_VALUES} values` };
  if (!isUtf8(bytes)) return { field: '', reason: 'must be valid UTF-8' };
  try {
    // Keeps a byte order mark, which JSON.parse refuses: it belongs at the start of a file, not of a line.
    return { value: JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString()) };
  } catch {
    return { field: '', reason: 'must be valid JSON' };
  }
}

/** More than a valid line can have. */
const MAX_VALUES = 200_000;
const [QUOTE, COMMA, BRACKET, BACKSLASH, BRACE] = Buffer.from('",[\\{');

/** Counts commas, brackets and braces: parsing millions of values takes half a second, and a hundred times their memory. */
function hasTooManyValues(json: Uint8Array): boolean {
  let count = 0;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === QUOTE) at = endOfString(json, at);
    else if ((byte === COMMA || byte === BRACKET || byte === BRACE) && ++count > MAX_VALUES) return true;
  }
  return false;
}

function endOfString(json: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < json.length && json[at] !== QUOTE) at += json[at] === BACKSLASH ? 2 : 1;
  return at;
}

/** Validates a JSON value that must be an object: a line, or the arguments of a tool. */
export function parseObject<S extends z.ZodType>(schema: S, value: unknown): { record: z.output<S> } | FieldError {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { field: '', reason: 'must be a JSON object' };
  const result = schema.safeParse(value, { error: reasonOf });
  if (result.success) return { record: result.data };
  const { path, reason } = problemOf(result.error.issues[0]!);
  return { field: fieldOf(path), reason };
}

const KINDS: Record<string, string> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
};

/** The reason for an issue whose schema states none. */
function reasonOf(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is required';
      return `must be ${KINDS[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return issue.input === undefined ? 'is required' : mustBe(issue.values);
    case 'invalid_union': {
      const { discriminator, options } = issue as { discriminator?: string; options?: readonly unknown[] };
      if (discriminator === undefined || options === undefined) return 'is not valid';
      return (issue.input as Record<string, unknown>)[discriminator] === undefined ? 'is required' : mustBe(options);
    }
    case 'too_small':
      return `must be at least ${issue.minimum}`;
    case 'too_big':
      return `must be at most ${issue.maximum}`;
    case 'unrecognized_keys':
      return unknownProperty(issue.keys);
    default:
      return 'is not valid';
  }
}

function mustBe(values: readonly unknown[]): string {
  const names = values.filter((value) => value !== undefined).map(String);
  return names.length === 1 ? `must be ${names[0]}` : `must be one of ${names.join(', ')}`;
}

// Another name may be misplaced content, so it isn't repeated in a reason.
const PLAIN_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

function unknownProperty([name]: string[]): string {
  return PLAIN_NAME.test(name!) ? 'is not a known property' : 'has a property that is not known';
}

/**
 * An object without unknown properties. The reason for refusing one lists the known ones.
 * @param advise returns another reason for some names
 */
export function closedObject<S extends z.ZodRawShape>(shape: S, advise?: (name: string) => string | undefined) {
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== 'unrecognized_keys') return undefined;
      const list = Object.keys(shape).join(', ');
      return advise?.(issue.keys[0]!) ?? `${unknownProperty(issue.keys)}. Known: ${list}.`;
    },
  });
}

function problemOf(issue: z.core.$ZodIssue): { path: PropertyKey[]; reason: string } {
  if (issue.code === 'unrecognized_keys') {
    const name = issue.keys[0]!;
    return { path: PLAIN_NAME.test(name) ? [...issue.path, name] : issue.path, reason: issue.message };
  }
  if (issue.code === 'invalid_union') {
    // The intended alternative is the one whose type the value has: its error lies inside the value, or comes from one of our checks.
    const inner = issue.errors.flatMap(([first]) => first ?? []).find(({ path, code }) => path.length > 0 || code === 'custom');
    if (inner) return problemOf({ ...inner, path: [...issue.path, ...inner.path] });
  }
  return { path: issue.path, reason: issue.message };
}

function fieldOf(path: readonly PropertyKey[]): string {
  return path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`))
    .join('')
    .replace(/^\./, '');
}

/** JSON Schema for a schema whose checks are code: keywords, and the schema of a list's items. */
export type JsonForm = z.core.JSONSchema.BaseSchema & { item?: z.ZodType };

const jsonForms = new WeakMap<z.core.$ZodType, JsonForm>();

/** Includes the form of the schema from which this one was derived, by a check or a description. */
export function jsonFormOf(schema: z.core.$ZodType): JsonForm {
  const { parent } = schema._zod;
  return { ...(parent && jsonFormOf(parent)), ...jsonForms.get(schema) };
}

export function withForm<S extends z.ZodType>(schema: S, form: JsonForm): S {
  jsonForms.set(schema, form);
  return schema;
}

/** Absent and null both mean `fallback`. */
export function orDefault<S extends z.ZodType, D extends string | boolean | object | null>(schema: S, fallback: D) {
  return withForm(
    schema.nullish().transform((value): NonNullable<z.output<S>> | D => value ?? fallback),
    { default: fallback },
  );
}

/** Absent and null both mean undefined, which keeps the stored value. */
export function kept<S extends z.ZodType>(schema: S) {
  return schema.nullish().transform((value) => value ?? undefined);
}

/** Absent and null both mean null. */
export function orNull<S extends z.ZodType>(schema: S) {
  // Most fields use this, and `default` takes half the time of a transform.
  return withForm(schema.nullable().default(null), { default: null });
}

/** The maximum length of lists of people, notes or blocks: more than a call or a project has, and few enough to read at once. */
export const MAX_ITEMS = 1_000;

/**
 * A list. Its length is checked before any item is parsed, and parsing ends at the first invalid item, because the issues of millions of
 * invalid items would exhaust the memory.
 * @param options.most the maximum length
 */
export function list<S extends z.ZodType>(item: S, { most }: { most: number }) {
  return withForm(z.array(z.unknown()), { item, maxItems: most }).transform((values, context) => {
    if (values.length > most) {
      context.addIssue({ code: 'custom', message: `must have at most ${most} items` });
      return z.NEVER;
    }
    const items: z.output<S>[] = [];
    for (const [i, value] of values.entries()) {
      const result = item.safeParse(value, { error: reasonOf });
      if (!result.success) {
        const { path, reason } = problemOf(result.error.issues[0]!);
        // Not the issue itself: zod would still run the transforms around the list after one about unknown properties.
        context.addIssue({ code: 'custom', path: [i, ...path], message: reason });
        return z.NEVER;
      }
      items.push(result.data);
    }
    return items;
  });
}

/** Text of any length, kept unchanged. */
export const freeText = withForm(
  z.string().refine((value) => unstorable(value) === undefined, { error: ({ input }) => unstorable(input as string) }),
  { pattern: '^[^\\u0000\\ud800-\\udfff]*$' },
);

export const nullableText = orNull(freeText);

/** Text of `min` to `max` code points. */
export function text(min: number, max: number) {
  const schema = freeText.refine((value) => {
    const length = lengthOf(value);
    return length >= min && length <= max;
  }, `must have ${min} to ${max} characters`);
  return withForm(schema, { minLength: min, maxLength: max });
}

/** An e-mail address as written. Compare it by `fold`. */
export const email = withForm(freeText.refine(isEmail, 'must be an e-mail address of 3 to 254 characters'), {
  title: 'e-mail address',
  pattern: '^[^\\s@\\u0000\\ud800-\\udfff]+@[^\\s@\\u0000\\ud800-\\udfff]+$',
  minLength: 3,
  maxLength: 254,
});

export const organizationId = z
  .string()
  .regex(ORGANIZATION_ID, 'must be 1 to 40 of a-z, 0-9 and "-", not starting with "-"')
  .describe('Id of the organization.');

export const callId = z.string().regex(CALL_ID, 'must be 1 to 128 of A-Z, a-z, 0-9, ".", "_", ":" and "-"');

/** A UUID, in lower case. */
export const uuid = withForm(parsed(parseUuid, 'must be a UUID'), {
  format: 'uuid',
  pattern: '^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$',
});

/** A `Date`, truncated to the millisecond. */
export const timestamp = withForm(parsed(parseTimestamp, 'must be an RFC 3339 date-time with Z or an offset'), {
  format: 'date-time',
  pattern: '^(?!0000)\\d{4}-\\d\\d-\\d\\d[Tt]\\d\\d:\\d\\d:[0-5]\\d(\\.\\d+)?([Zz]|[+-]\\d\\d:\\d\\d)$',
});

function parsed<T>(parse: (value: string) => T | undefined, reason: string) {
  return z.string().transform((value, context): T => {
    const result = parse(value);
    if (result !== undefined) return result;
    context.addIssue(reason);
    return z.NEVER;
  });
}
