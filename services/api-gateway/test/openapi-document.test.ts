import { describe, expect, it } from 'vitest';
import { createChecker, type Document, type OperationObject } from '@crs/testing/openapi';
import { buildDocument } from '../src/openapi/document.ts';
import { ROUTES } from '../src/routes/index.ts';

/** The document as a client reads it, after serialization. */
const document = JSON.parse(JSON.stringify(buildDocument('https://api.acme.example'))) as Document;

const operations = (): [string, OperationObject][] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, OperationObject] => [`${method} ${path}`, operation]),
  );
const parametersOf = (path: string, place: string, method = 'get') =>
  Object.fromEntries(
    document.paths[path]![method]!.parameters.filter((parameter) => parameter.in === place).map(({ name, required, schema }) => [
      name,
      { required, ...schema },
    ]),
  );

describe('the document', () => {
  it('lists exactly the routes, each with its operation', () => {
    const routes = Object.entries(ROUTES).flatMap(([path, methods]) =>
      methods.map(({ method }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`),
    );
    expect(operations().map(([name]) => name)).toEqual(routes);
    expect(routes.toSorted()).toEqual([
      'delete /calls/{call_id}',
      'get /billing-offices',
      'get /calls',
      'get /calls/{call_id}',
      'get /changes',
      'get /entities',
      'get /openapi.json',
      'get /projects',
      'get /projects/{project_id}',
      'patch /calls/{call_id}',
      'post /projects',
      'post /records',
      'put /calls/{call_id}',
    ]);
  });

  it('has the API version 1.0.0, and is OpenAPI 3.1', () => {
    expect(document.openapi).toBe('3.1.0');
    expect(document.info.version).toBe('1.0.0');
  });

  it('has the same parameters and limits as the code', () => {
    const expand = {
      expand: { required: false, type: 'string', enum: ['detail'] },
      include_verbatim: { required: false, type: 'boolean' },
      include_redacted: { required: false, type: 'boolean' },
      include_clean: { required: false, type: 'boolean' },
    };
    const instant = { type: 'string', format: 'date-time' };
    expect(parametersOf('/calls', 'query')).toEqual({
      start_date: { required: true, ...instant },
      end_date: { required: true, ...instant },
      updated_since: { required: false, ...instant },
      page: { required: false, type: 'integer', minimum: 1, maximum: 2_147_483_647, default: 1 },
      per_page: { required: false, type: 'integer', minimum: 1, maximum: 200 },
      ...expand,
    });
    expect(parametersOf('/changes', 'query')).toEqual({
      cursor: { required: false, type: 'string', maxLength: 1_000 },
      limit: { required: false, type: 'integer', minimum: 1, maximum: 1_000 },
      types: {
        ...{ required: false, type: 'array', minItems: 1, uniqueItems: true },
        items: { type: 'string', enum: ['project', 'entity', 'call'] },
      },
      ...expand,
    });
    for (const path of ['/projects', '/entities'])
      expect(parametersOf(path, 'query')).toEqual({
        cursor: { required: false, type: 'string', maxLength: 1_000 },
        limit: { required: false, type: 'integer', minimum: 1, maximum: 1_000 },
      });
    const flag = { required: false, type: 'boolean', default: true };
    expect(parametersOf('/calls/{call_id}', 'path')).toEqual({ call_id: { required: true, type: 'string' } });
    expect(parametersOf('/calls/{call_id}', 'query')).toEqual({
      include_verbatim: flag,
      include_redacted: flag,
      include_clean: flag,
    });
    expect(parametersOf('/projects/{project_id}', 'path')).toEqual({
      project_id: { required: true, type: 'string', format: 'uuid' },
    });
    expect(parametersOf('/projects', 'header', 'post')).toEqual({
      'Idempotency-Key': { required: false, type: 'string', pattern: String.raw`^[\x20-\x7e]{1,255}$` },
    });
    expect(document.components.schemas['NewProject']).toMatchObject({
      required: ['name', 'lead_email'],
      additionalProperties: false,
      properties: {
        name: { type: 'string', minLength: 1, maxLength: 200 },
        lead_email: { type: 'string', minLength: 3, maxLength: 254 },
        member_emails: { type: ['array', 'null'], maxItems: 100, items: { type: 'string', minLength: 3, maxLength: 254 } },
        billing_office_name: { type: ['string', 'null'] },
        summary: { type: ['string', 'null'], maxLength: 2_000 },
      },
    });
  });

  it('marks as optional the fields of a call that can be absent', () => {
    const { properties, required } = document.components.schemas['Call'] as { properties: object; required: string[] };
    expect(Object.keys(properties).filter((name) => !required.includes(name))).toEqual([
      'segment',
      'source',
      'rating',
      'cost',
      'participants',
      'summary',
      'key_takeaways',
      'key_takeaways_status',
      'qa_blocks',
    ]);
    expect(document.components.schemas['Interviewee']).not.toHaveProperty('required');
  });

  it('distinguishes kinds of changes by a constant in each', () => {
    const { schemas } = document.components as { schemas: Record<string, { oneOf?: { $ref: string }[]; properties?: object }> };
    expect(schemas['Change']!.oneOf).toEqual(
      ['Call', 'Project', 'Entity']
        .flatMap((record) => [`${record}Changed`, `${record}Deleted`])
        .concat('AccessChanged')
        .map((name) => ({ $ref: `#/components/schemas/${name}` })),
    );
    expect(schemas['CallChanged']!.properties).toMatchObject({ type: { type: 'string', const: 'call.changed' } });
    expect(schemas['AccessChanged']!.properties).toMatchObject({ call_id: { type: 'null' } });
  });

  it('describes every parameter and every property', () => {
    const lacking: string[] = [];
    const look = (value: unknown, path: string): void => {
      if (typeof value !== 'object' || value === null) return;
      for (const [name, property] of Object.entries((value as { properties?: object }).properties ?? {})) {
        if (!('$ref' in property) && !('description' in property)) lacking.push(`${path}.${name}`);
        look(property, `${path}.${name}`);
      }
      look((value as { items?: unknown }).items, `${path}[]`);
    };
    for (const [name, schema] of Object.entries(document.components.schemas)) look(schema, name);
    for (const [name, { parameters }] of operations())
      lacking.push(...parameters.filter(({ description }) => !description).map((parameter) => `${name} ${parameter.name}`));
    expect(lacking).toEqual([]);
  });

  it('has examples that match its schemas', () => {
    const judging = createChecker(document);
    for (const [name, { parameters, requestBody, responses }] of operations()) {
      for (const { schema, example } of parameters.filter((parameter) => parameter.example !== undefined))
        expect(judging.problemsOf(schema, example), name).toEqual([]);
      const contents = [requestBody?.content, ...Object.values(responses).map((response) => judging.deref(response).content)];
      for (const content of contents.filter((it) => it !== undefined)) {
        const [{ schema, examples }] = Object.values(content) as [(typeof content)['application/json']];
        expect(Object.keys(examples).length, name).toBeGreaterThan(0);
        for (const { value } of Object.values(examples)) expect(judging.problemsOf(schema, value), name).toEqual([]);
      }
    }
  });
});
