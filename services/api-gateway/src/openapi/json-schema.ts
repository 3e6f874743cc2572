/** Turns zod schemas into JSON Schema 2020-12, the dialect of OpenAPI 3.1. */
import { z } from 'zod';
import { components } from '../schema/common.ts';

export type JsonSchema = Record<string, unknown>;

const REF = '#/components/schemas/';
/** Keywords that a schema keeps where `wire` replaces the others. */
const KEPT = new Set(['description', 'example']);

/** The JSON Schema of requests that a zod schema reads. */
export function requestSchema(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io: 'input',
    override: ({ zodSchema, jsonSchema }) => {
      simplify(jsonSchema);
      // zod leaves out the default of a transformed value, because it is a default of the result. `wire` describes the result too.
      const { def } = zodSchema._zod;
      if (def.type === 'default') jsonSchema.default = def.defaultValue;
    },
  });
  return rest;
}

/** The JSON Schemas of all schemas with a name. They aren't closed, because answers may get further keys within this version. */
export function namedSchemas(): Record<string, JsonSchema> {
  const { schemas } = z.toJSONSchema(components, {
    uri: (id) => REF + id,
    override: ({ jsonSchema }) => {
      delete jsonSchema.additionalProperties;
      simplify(jsonSchema);
    },
  });
  // Within the document, dialect and id are implied.
  for (const schema of Object.values(schemas)) {
    delete schema.$schema;
    delete schema.$id;
  }
  return schemas;
}

/** A reference to a schema with a name. */
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

/** Turns `anyOf` a type and null into one schema with two types, which readers and code generators understand best. */
function foldNull(schema: JsonSchema): void {
  if (!Array.isArray(schema['anyOf']) || schema['anyOf'].length !== 2) return;
  const [inner, nothing] = schema['anyOf'] as [JsonSchema, JsonSchema];
  if (nothing['type'] !== 'null' || typeof inner['type'] !== 'string') return;
  const { anyOf: _, ...outer } = schema;
  for (const key of Object.keys(schema)) delete schema[key];
  Object.assign(schema, inner, outer, { type: [inner['type'], 'null'] });
  if (Array.isArray(inner['enum'])) schema['enum'] = [...inner['enum'], null];
}
