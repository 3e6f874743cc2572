import { z } from 'zod';
import type { Request, Response } from 'express';
import type { Context } from '../context.ts';
import { parseQuery } from '../http/query.ts';
import { send } from '../http/send.ts';
import type { Operation } from '../openapi/operation.ts';
import { openapiDocument } from '../schema/openapi.ts';

const query = z.object({});

export const getOpenapiOperation: Operation = {
  operationId: 'getOpenapi',
  tag: 'About',
  summary: 'Get this document',
  description: 'The OpenAPI 3.1 document of the API, for generators of clients and for tests. It needs no key.',
  query,
  answer: {
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
    400: { when: 'There is a query; this path takes none.', message: "page: isn't a parameter here. Allowed: none" },
  },
};

/** `GET /v1/openapi.json` */
export function getOpenapi({ openapi }: Context) {
  return async (request: Request, response: Response): Promise<void> => {
    parseQuery(request.url, query);
    send(request, response, openapi);
  };
}
