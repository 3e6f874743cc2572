/** Generates the JSON Schema of import lines, and the lists of fields in docs/import.md, from the schemas by which the services validate the lines. */
import { authLine } from '@crs/auth/import-records';
import { callLine, callMerge } from '@crs/calls/call-record';
import { deletionLine } from '@crs/crs/send';
import { entityLine, entityMerge } from '@crs/entities/import-records';
import { jsonFormOf } from '@crs/records/import-record';
import { projectMerge, projectsLine } from '@crs/projects/import-records';
import { z } from 'zod';

export type Json = z.core.JSONSchema.BaseSchema;

const TYPES = ['organization', 'user', 'billing_office', 'project', 'call', 'entity'];

/** In draft 2020-12. Each type of record, its merge and its deletion are definitions; a line is one of them. */
export function importSchema(): Json {
  const lines = [authLine, projectsLine, callLine, entityLine, deletionLine]
    .flatMap(({ options }): readonly z.ZodType[] => options)
    .map(jsonSchema);
  const records = TYPES.map((type) => [type, lines.findLast((line) => typeOf(line) === type && !isDeletion(line))!] as const);
  const merges = [projectMerge, callMerge, entityMerge].map((schema) => {
    const line = withoutDefaults(jsonSchema(schema));
    return [`${String(typeOf(line))}_merge`, line] as const;
  });
  const deletions = TYPES.flatMap((type) =>
    lines.filter((line) => typeOf(line) === type && isDeletion(line)).map((line) => [`${type}_deletion`, line] as const),
  );
  const definitions = [...records, ...merges, ...deletions];
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'A line of an import',
    description:
      'Absent and null mean the same where null is allowed, except in a merge. Lines are checked again against what is stored.',
    oneOf: definitions.map(([name]) => ({ $ref: `#/$defs/${name}` })),
    $defs: Object.fromEntries(definitions),
  };
}

const typeOf = ({ properties }: Json) => (properties!['type'] as Json).const;
const isDeletion = ({ properties }: Json) => (properties!['deleted'] as Json | undefined)?.const === true;

/** What is absent from a merge keeps its value. */
function withoutDefaults({ properties, ...line }: Json): Json {
  return {
    ...line,
    properties: Object.fromEntries(Object.entries(properties ?? {}).map(([name, json]) => [name, mergedPart(json as Json)])),
  };
}

/** An object is merged by property, a list is replaced as a whole. */
function mergedPart({ anyOf, ...json }: Json): Json {
  delete json.default;
  return { ...json, ...(anyOf && { anyOf: anyOf.map((each) => (each.properties ? withoutDefaults(each) : each)) }) };
}

export function jsonSchema(schema: z.core.$ZodType): Json {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    io: 'input',
    override({ zodSchema, jsonSchema: target }) {
      if (zodSchema instanceof z.ZodNullable) replace(target, orNull(jsonSchema(zodSchema.def.innerType)));
      const { item, ...form } = jsonFormOf(zodSchema);
      Object.assign(target, form);
      if (item) target.items = jsonSchema(item);
      // Optional fields have no default: if absent, they keep the stored value. Neither has an absent object, whose fields have their own defaults.
      if (zodSchema instanceof z.ZodOptional || isObject(target.default)) delete target.default;
    },
  });
  return json;
}

function replace(target: Json, source: Json): void {
  for (const key of Object.keys(target)) delete target[key];
  Object.assign(target, source);
}

function orNull(json: Json): Json {
  if (json.anyOf) return { ...json, anyOf: [...json.anyOf, { type: 'null' }] };
  return { ...json, type: [json.type, 'null'], ...(json.enum && { enum: [...json.enum, null] }) } as Json;
}

const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Formats the schema with one property per line. */
export function schemaText(): string {
  return `${print(importSchema(), 4)}\n`;
}

/** Properties of a line of a call that the REST API takes from the path, the key and the method. */
const DETERMINED = ['type', 'organization', 'id', 'deleted', 'merge'];

/** Formats the schemas of a call in the REST API, and of a change of one. */
export function callBodiesText(): string {
  const { $defs } = importSchema();
  const bodyOf = (definition: string): Json => {
    const { required: _, properties, ...line } = $defs![definition] as Json;
    const own = Object.entries(properties!).filter(([name]) => !DETERMINED.includes(name));
    return { ...line, properties: Object.fromEntries(own) };
  };
  return `${print({ whole: bodyOf('call'), change: bodyOf('call_merge') }, 4)}\n`;
}

export function print(value: unknown, levels: number, indent = ''): string {
  if (levels === 0 || !isObject(value)) return JSON.stringify(value);
  const entries = Object.entries(value as object).map(
    ([key, entry]) => `${indent}  ${JSON.stringify(key)}: ${print(entry, levels - 1, `${indent}  `)}`,
  );
  return `{\n${entries.join(',\n')}\n${indent}}`;
}

/** Markdown: a heading and a list of fields for each type of record. */
export function fieldLists(): string {
  const { $defs } = importSchema();
  return TYPES.map((type) => [`### \`${type}\``, '', ...itemsOf($defs![type] as Json, '')].join('\n')).join('\n\n');
}

/** Fields that the page describes for all types together. */
const SHARED_FIELDS = ['type', 'organization', 'deleted', 'merge'];

function itemsOf({ properties = {}, required = [] }: Json, path: string): string[] {
  const pathsOf = new Map<string, string>();
  return Object.entries(properties as Record<string, Json>).flatMap(([name, field]) => {
    if (path === '' && SHARED_FIELDS.includes(name)) return [];
    const inner = [field, ...(field.anyOf ?? [])].find((it) => it.properties ?? it.items) ?? {};
    const parts = (inner.items as Json | undefined) ?? inner;
    const inside = JSON.stringify(parts.properties ?? {});
    const earlier = parts.properties && pathsOf.get(inside);
    pathsOf.set(inside, path + name);
    const form = `${valueOf(field)}${required.includes(name) ? ', **required**' : defaultOf(field)}`;
    const item = `- \`${path}${name}\`${form === 'text' ? '' : ` (${form})`}: ${field.description}`;
    if (earlier !== undefined) return [`${item} Has the fields of \`${earlier}\`.`];
    return [item, ...itemsOf(parts, `${path}${name}${inner.items ? '[]' : ''}.`)];
  });
}

/** Formats a default value. Returns nothing for null and an empty list, the usual defaults. */
function defaultOf({ default: value }: Json): string {
  return (value ?? null) === null || Array.isArray(value) ? '' : `, default \`${JSON.stringify(value)}\``;
}

function valueOf(field: Json): string {
  const { anyOf, enum: values, format, items, maxItems, minimum, maximum, minLength, maxLength, title } = field;
  const [type] = [field.type].flat();
  if (values)
    return values
      .filter((value) => value !== null)
      .map((value) => `\`${JSON.stringify(value)}\``)
      .join(', ');
  if (anyOf)
    return anyOf
      .filter((it) => it.type !== 'null')
      .map(valueOf)
      .join(', or ');
  if (items) {
    const things = (items as Json).type === 'string' ? 'texts' : 'objects';
    return `list of ${(items as Json).enum ? valueOf(items as Json) : `at most ${maxItems!.toLocaleString('en')} ${things}`}`;
  }
  if (title !== undefined) return title;
  if (format !== undefined) return { uuid: 'UUID', 'date-time': 'timestamp' }[format] ?? format;
  if (maxLength !== undefined) return `text of ${minLength} to ${maxLength} characters`;
  const range = maximum === undefined ? (minimum === undefined ? '' : `, at least ${minimum}`) : `, ${minimum} to ${maximum}`;
  const word = { string: 'text', integer: 'whole number', boolean: '`true` or `false`' }[type as string] ?? String(type);
  return `${word}${range}`;
}
