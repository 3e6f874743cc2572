/** Turns zod schemas into JSON Schema 2020-12, the dialect of OpenAPI 3.1. */
import { z } from 'zod';
import { components } from '../schema/common.ts';

export type JsonSchema = Record<string, unknown>;

const REF = '#/components/schemas/';
/** A zod schema may have a JSON Schema in its metadata, as `wire`. It replaces the generated one except for these keywords. */
const KEPT = new Set(['description', 'example']);

/** Returns the JSON Schema of the input of a zod schema. */
export function requestSchema(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io: 'input',
    override: ({ zodSchema, jsonSchema }) => {
      simplify(jsonSchema);
      // zod omits the default of a transformed value, because it has the type of the result and not of the input.
      const { def } = zodSchema._zod;
      if (def.type === 'default') jsonSchema.default = def.defaultValue;
    },
  });
  return rest;
}

/** Returns all named schemas. They allow further properties, because later responses of this API version may have more. */
export function namedSchemas(): Record<string, JsonSchema> {
  const { schemas } = z.toJSONSchema(components, {
    uri: (id) => REF + id,
    override: ({ jsonSchema }) => {
      delete jsonSchema.additionalProperties;
      simplify(jsonSchema);
    },
  });
  for (const schema of Object.values(schemas)) {
    delete schema.$schema;
    delete schema.$id;
  }
  return schemas;
}

/** Returns a reference to a named schema. @throws Error if it has no name */
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

/** Turns `anyOf` of a type and null into one schema with two types, which code generators handle best. */
function foldNull(schema: JsonSchema): void {
  if (!Array.isArray(schema['anyOf']) || schema['anyOf'].length !== 2) return;
  const [inner, nothing] = schema['anyOf'] as [JsonSchema, JsonSchema];
  if (nothing['type'] !== 'null' || typeof inner['type'] !== 'string') return;
  const { anyOf: _, ...outer } = schema;
  for (const key of Object.keys(schema)) delete schema[key];
  Object.assign(schema, inner, outer, { type: [inner['type'], 'null'] });
  if (Array.isArray(inner['enum'])) schema['enum'] = [...inner['enum'], null];
}
