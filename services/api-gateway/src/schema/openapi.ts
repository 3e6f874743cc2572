import { z } from 'zod';
import { components } from './common.ts';

export const openapiDocument = z
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
