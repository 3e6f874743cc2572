/** Generates the JSON Schema of the files of `crs apply`, from the schema by which auth validates their entries. */
import { tenantEntry } from '@crs/auth/tenant';
import { jsonSchema, print, type Json } from './import-schema.ts';

/** In draft 2020-12. */
export function tenantsSchema(): Json {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Organizations for crs apply',
    description: 'What is absent stays as it is. So does what is null, except in allowed_fields and expires_at.',
    type: 'object',
    properties: { organizations: { type: 'array', items: { $ref: '#/$defs/organization' } } },
    required: ['organizations'],
    additionalProperties: false,
    $defs: { organization: jsonSchema(tenantEntry) },
  };
}

/** Formats the schema with one property per line. */
export function tenantsSchemaText(): string {
  return `${print(tenantsSchema(), 4)}\n`;
}
