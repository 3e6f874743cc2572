/** Builds the OpenAPI document from the routes. */
import { z } from 'zod';
import { headerComponents, headersOf } from './headers.ts';
import { namedSchemas, refTo, requestSchema, type JsonSchema } from './json-schema.ts';
import type { Route, Success } from '../route.ts';
import { ROUTES } from '../routes/index.ts';
import { refusalsOf, responseComponents } from './refusals.ts';
import { webhookObjects } from './webhooks.ts';

export const TITLE = 'Call Research Service';
export const VERSION = '1.0.0';

const TAGS = [
  {
    name: 'Calls',
    description: 'Lists of calls by time of creation, single calls in full, and changes, also of projects and entities.',
  },
  {
    name: 'Projects',
    description:
      'Lists, creates and reads projects, and lists the billing offices that projects may name. Only for organizations that are enabled for the **write surface**; others get 404.',
  },
  { name: 'Entities', description: 'Companies, products and the like that were recognized in calls.' },
  {
    name: 'Records',
    description:
      'Stores, changes and deletes what this API reads. Only for keys with the right `ingest` or `delete`; others get 404.',
  },
  { name: 'Webhooks', description: 'Messages that the service sends to endpoints of your organization.' },
  { name: 'About', description: 'The API itself.' },
];

/** @param publicUrl the gateway's public origin. Not taken from the `Host` header, which clients control */
export function buildDocument(publicUrl: string): Record<string, unknown> {
  return {
    openapi: '3.1.0',
    info: {
      title: TITLE,
      version: VERSION,
      summary: 'Call records and projects of an organization.',
      description:
        'Reads and stores an organization’s call records (expert interviews and recorded meetings), and creates its projects. The guides are at `/docs`.',
      contact: { name: 'The operator of this service' },
      license: { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' },
    },
    servers: [{ url: `${publicUrl}/v1`, description: 'Version 1' }],
    security: [{ apiKey: [] }],
    tags: TAGS,
    paths: Object.fromEntries(
      Object.entries(ROUTES).map(([path, routes]) => [
        path.replace(/:(\w+)/g, '{$1}'),
        Object.fromEntries(routes.map((route) => [route.method, operationObject(route)])),
      ]),
    ),
    webhooks: webhookObjects(),
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'crk_...',
          description: 'A key of the organization, `crk_...`. It is shown once, when it is issued.',
        },
      },
      schemas: { ...namedSchemas(), ...bodySchemas() },
      headers: headerComponents,
      responses: responseComponents,
    },
  };
}

function bodySchemas(): Record<string, JsonSchema> {
  const bodies = Object.values(ROUTES).flatMap((routes) => routes.flatMap(({ body }) => body ?? []));
  return Object.fromEntries(
    bodies.map(({ name, schema }) => [name, schema instanceof z.ZodType ? requestSchema(schema) : schema]),
  );
}

function operationObject(route: Route): object {
  const { success, otherSuccess, body } = route;
  const isTagged = route.method === 'get' && !success.untagged;
  const parameters = [
    ...parametersIn('path', route.path),
    ...parametersIn('query', route.query),
    ...parametersIn('header', route.headers),
    ...(isTagged ? [IF_NONE_MATCH] : []),
  ];
  return {
    operationId: route.operationId,
    tags: [route.tag],
    summary: route.summary,
    description: route.description,
    ...(!route.access && { security: [] }),
    parameters,
    ...(body && {
      requestBody: {
        description: body.description,
        required: true,
        content: {
          [body.mediaType ?? 'application/json']: {
            schema: { $ref: `#/components/schemas/${body.name}` },
            examples: body.examples,
          },
        },
      },
    }),
    responses: {
      [success.status]: successOf(success, isTagged),
      ...(otherSuccess && { [otherSuccess.status]: successOf(otherSuccess, false) }),
      ...(isTagged && { 304: NOT_MODIFIED }),
      ...refusalsOf(route),
    },
  };
}

function successOf({ description, schema, examples, headers = [] }: Success, isTagged: boolean): object {
  return {
    description,
    headers: headersOf([...(isTagged ? (['ETag'] as const) : []), ...headers]),
    ...(schema && { content: { 'application/json': { schema: refTo(schema), examples } } }),
  };
}

const IF_NONE_MATCH = {
  name: 'If-None-Match',
  in: 'header',
  required: false,
  description:
    'One or more `ETag`s of earlier responses, or `*`. If the body has not changed, the response is 304 without a body.',
  schema: { type: 'string' },
};

const NOT_MODIFIED = {
  description: 'The body has not changed since the response with the `ETag` in `If-None-Match`: use that one.',
  headers: headersOf(['ETag']),
};

function parametersIn(location: 'path' | 'query' | 'header', schema: z.ZodObject | undefined): object[] {
  if (!schema) return [];
  const { properties = {}, required = [] } = requestSchema(schema) as {
    properties?: Record<string, JsonSchema>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, example, ...rest }]) => ({
    name,
    in: location,
    required: location === 'path' || required.includes(name),
    description,
    // Arrays are separated by commas.
    ...(rest['type'] === 'array' && { style: 'form', explode: false }),
    schema: rest,
    ...(example !== undefined && { example }),
  }));
}
