import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect } from 'vitest';
import type { RestResponse } from '@crs/testing/rest';

type Schema = Record<string, unknown>;

interface Reference {
  $ref?: string;
}

export interface Parameter {
  name: string;
  in: string;
  required: boolean;
  description: string;
  schema: Schema;
  example?: unknown;
}

interface Content {
  'application/json': { schema: Schema; examples: Record<string, { value: unknown }> };
}

export interface ResponseObject extends Reference {
  description: string;
  headers: Record<string, Reference>;
  content?: Content;
}

export interface OperationObject {
  operationId: string;
  security?: object[];
  parameters: Parameter[];
  requestBody?: { required: boolean; content: Content };
  responses: Record<string, ResponseObject>;
}

export interface Document {
  openapi: string;
  info: { title: string; version: string; description: string };
  servers: { url: string }[];
  paths: Record<string, Record<string, OperationObject>>;
  components: {
    schemas: Record<string, Schema>;
    headers: Record<string, { required: boolean; schema: Schema }>;
    responses: Record<string, ResponseObject>;
  };
}

/** The document as a judge of examples and answers. */
export function judge(document: Document) {
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true });
  addFormats.default(ajv);
  ajv.addVocabulary(['example', 'components']);
  ajv.addSchema({ $id: 'document', components: document.components });

  function validator(schema: Schema): ValidateFunction {
    // References are to the document, which is a schema of its own here.
    return ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"document#/components/')) as Schema);
  }

  const deref = (response: ResponseObject): ResponseObject =>
    response.$ref === undefined ? response : document.components.responses[response.$ref.split('/').at(-1)!]!;

  return {
    deref,
    expectValid(schema: Schema, value: unknown, what: string): void {
      const validate = validator(schema);
      expect(validate(value) ? [] : validate.errors, what).toEqual([]);
    },
    /** The answer is one that the document names for the operation, with its headers and its body. */
    expectAnswer(method: string, template: string, { status, headers, json, text }: RestResponse): void {
      const what = `${method} ${template} ${status}`;
      const response = document.paths[template]![method]!.responses[status];
      expect(response, `${what} is not in the document`).toBeDefined();
      const { headers: promised, content } = deref(response!);
      for (const [name, { required, schema }] of Object.entries(document.components.headers)) {
        const value = headers.get(name);
        if (value === null) expect(name in promised && required, `${what} lacks ${name}`).toBe(false);
        else expect(promised, `${what} has ${name}`).toHaveProperty([name]);
        if (value !== null) this.expectValid(schema, schema['type'] === 'integer' ? Number(value) : value, `${what} ${name}`);
      }
      if (content === undefined) expect(text).toBe('');
      else this.expectValid(content['application/json'].schema, json, what);
    },
  };
}
