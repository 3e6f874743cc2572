/** Checks responses and examples against an OpenAPI document. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

export type Schema = Record<string, unknown>;

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

/** Descriptions of how a value violates a document or a schema. Empty if it doesn't. */
export type Problems = string[];

/** Checks against one document. */
export interface Checker {
  deref(response: ResponseObject): ResponseObject;
  /** Checks a value against a schema, whose references are resolved in the document. */
  problemsOf(schema: Schema, value: unknown): Problems;
  /** Checks a response's status, headers and body against the document's operation. */
  problemsOfResponse(method: string, template: string, response: HttpResponse): Problems;
}

interface HttpResponse {
  status: number;
  headers: Headers;
  text: string;
  /** The body if it is JSON. */
  json: unknown;
}

export function createChecker(document: Document): Checker {
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true });
  addFormats.default(ajv);
  ajv.addVocabulary(['example', 'components']);
  ajv.addSchema({ $id: 'document', components: document.components });
  const validators = new Map<Schema, ValidateFunction>();

  function validator(schema: Schema): ValidateFunction {
    const known = validators.get(schema);
    if (known) return known;
    // Ajv has the document as a separate schema, so references must include its id.
    const made = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"document#/components/')) as Schema);
    validators.set(schema, made);
    return made;
  }

  const problemsOf = (schema: Schema, value: unknown): Problems => {
    const validate = validator(schema);
    return validate(value) ? [] : validate.errors!.map(({ instancePath, message }) => `${instancePath} ${message}`);
  };
  const deref = (response: ResponseObject): ResponseObject =>
    response.$ref === undefined ? response : document.components.responses[response.$ref.split('/').at(-1)!]!;

  return {
    deref,
    problemsOf,
    problemsOfResponse(method, template, { status, headers, json, text }) {
      const what = `${method} ${template} ${status}`;
      const response = document.paths[template]![method]!.responses[status];
      if (!response) return [`${what} is not in the document`];
      const { headers: documented, content } = deref(response);
      const problems: Problems = [];
      for (const [name, { required, schema }] of Object.entries(document.components.headers)) {
        const value = headers.get(name);
        if (value === null) {
          if (name in documented && required) problems.push(`${what} lacks ${name}`);
          continue;
        }
        if (!(name in documented)) problems.push(`${what} has ${name}`);
        problems.push(
          ...problemsOf(schema, schema['type'] === 'integer' ? Number(value) : value).map((it) => `${what} ${name}: ${it}`),
        );
      }
      if (content) problems.push(...problemsOf(content['application/json'].schema, json).map((it) => `${what}: ${it}`));
      else if (text !== '') problems.push(`${what} has a body`);
      return problems;
    },
  };
}
