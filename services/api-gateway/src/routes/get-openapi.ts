import { z } from 'zod';
import { NO_PARAMETERS, parseQuery } from '../http/query.ts';
import { send } from '../http/send.ts';
import type { Route } from '../route.ts';
import { components } from '../schema/common.ts';

const openapiDocument = z
  .looseObject({
    openapi: z.string().meta({ description: 'Version of the OpenAPI Specification.', examples: ['3.1.0'] }),
    info: z
      .looseObject({
        title: z.string().describe('Name of the API.'),
        version: z.string().meta({ description: 'Version of the API.', examples: ['1.0.0'] }),
      })
      .describe('Title and version of the API.'),
    paths: z.looseObject({}).describe('The operations by path and method.'),
  })
  .describe('An OpenAPI document.')
  .register(components, { id: 'OpenApiDocument' });

/** `GET /v1/openapi.json` */
export const getOpenapi: Route = {
  method: 'get',
  access: undefined,
  operationId: 'getOpenapi',
  tag: 'About',
  summary: 'Get this document',
  description: 'The OpenAPI 3.1 document of the API, for client generators and tests. Needs no key.',
  success: {
    status: 200,
    description: 'The document.',
    schema: openapiDocument,
    examples: {
      document: {
        summary: 'Its beginning',
        value: { openapi: '3.1.0', info: { title: 'Call Research Service', version: '1.0.0' }, paths: {} },
      },
    },
  },
  refusals: {
    400: { when: 'The request has a query; this path takes none.', message: "page: isn't a parameter here. Allowed: none" },
  },
  async handle({ openapi }, request, response) {
    parseQuery(request.url, NO_PARAMETERS);
    send(request, response, openapi);
  },
};
