/** zod schemas as the document shows them: JSON Schema 2020-12, the dialect of OpenAPI 3.1. */
import { z } from 'zod';
import { components } from '../schema/common.ts';

export type JsonSchema = Record<string, unknown>;

const REF = '#/components/schemas/';
/** What a parameter's own schema keeps where `wire` says what its text stands for. */
const KEPT = new Set(['description', 'example']);

/** What is sent, by the schema that reads it. */
export function requestSchema(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io: 'input',
    override: ({ zodSchema, jsonSchema }) => {
      simplify(jsonSchema);
      // zod leaves out the default of what is transformed, as it is of the result; so is what `wire` describes.
      const { def } = zodSchema._zod;
      if (def.type === 'default') jsonSchema.default = def.defaultValue;
    },
  });
  return rest;
}

/** The schemas that have a name. Answers may get further keys within this version, so they aren't closed. */
export function namedSchemas(): Record<string, JsonSchema> {
  const { schemas } = z.toJSONSchema(components, {
    uri: (id) => REF + id,
    override: ({ jsonSchema }) => {
      delete jsonSchema.additionalProperties;
      simplify(jsonSchema);
    },
  });
  // Their dialect and their place go without saying in the document.
  return JSON.parse(
    JSON.stringify(schemas, (key, value: unknown) => (key === '$schema' || key === '$id' ? undefined : value)),
  ) as Record<string, JsonSchema>;
}

/** A schema that has a name, by reference. */
export function refTo(schema: z.ZodType): { $ref: string } {
  const named = components.get(schema);
  if (!named) throw new Error('the schema has no name in the document');
  return { $ref: REF + named.id };
}

function simplify(schema: JsonSchema): void {
  const { wire } = schema;
  if (wire !== undefined) {
    for (const key of Object.keys(schema)) if (!KEPT.has(key)) delete schema[key];
    Object.assign(schema, wire);
  }
  foldNull(schema);
}

/** `anyOf` a type and null, as one schema of two types: what readers and generators of code understand best. */
function foldNull(schema: JsonSchema): void {
  if (!Array.isArray(schema['anyOf']) || schema['anyOf'].length !== 2) return;
  const [inner, nothing] = schema['anyOf'] as [JsonSchema, JsonSchema];
  if (nothing['type'] !== 'null' || typeof inner['type'] !== 'string') return;
  const { anyOf: _, ...outer } = schema;
  for (const key of Object.keys(schema)) delete schema[key];
  Object.assign(schema, inner, outer, { type: [inner['type'], 'null'] });
  if (Array.isArray(inner['enum'])) schema['enum'] = [...inner['enum'], null];
}
