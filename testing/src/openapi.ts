/** Checks answers and examples against an OpenAPI document. */
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

/** How a value breaks a document or a schema, in words; empty where it doesn't. */
export type Problems = string[];

/** Checks of one document. */
export interface Judge {
  deref(response: ResponseObject): ResponseObject;
  /** Checks a value against a schema, whose references point into the document. */
  problemsOf(schema: Schema, value: unknown): Problems;
  /** Checks an answer's status, headers and body against the operation of the document. */
  problemsOfAnswer(method: string, template: string, answer: Answer): Problems;
}

interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** The body, where it is JSON. */
  json: unknown;
}

export function judge(document: Document): Judge {
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true });
  addFormats.default(ajv);
  ajv.addVocabulary(['example', 'components']);
  ajv.addSchema({ $id: 'document', components: document.components });
  const validators = new Map<Schema, ValidateFunction>();

  function validator(schema: Schema): ValidateFunction {
    const known = validators.get(schema);
    if (known) return known;
    // The document is a schema of its own in Ajv, so references must name it.
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
    problemsOfAnswer(method, template, { status, headers, json, text }) {
      const what = `${method} ${template} ${status}`;
      const response = document.paths[template]![method]!.responses[status];
      if (!response) return [`${what} is not in the document`];
      const { headers: promised, content } = deref(response);
      const problems: Problems = [];
      for (const [name, { required, schema }] of Object.entries(document.components.headers)) {
        const value = headers.get(name);
        if (value === null) {
          if (name in promised && required) problems.push(`${what} lacks ${name}`);
          continue;
        }
        if (!(name in promised)) problems.push(`${what} has ${name}`);
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
