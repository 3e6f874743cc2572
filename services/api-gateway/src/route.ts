import type { Request, Response } from 'express';
import type { z } from 'zod';
import type { KeyAccess } from '@crs/kit/rpc/admitted-callers';
import type { ServiceClient } from '@crs/kit/rpc/client';
import type { CallsServiceService } from '@crs/proto/crs/calls/v1/calls';
import type { ProjectsServiceService } from '@crs/proto/crs/projects/v1/projects';
import type { Entity } from './http/send.ts';
import type { HeaderName } from './openapi/headers.ts';

/** Dependencies of the routes. */
export interface Context {
  calls: ServiceClient<CallsServiceService>;
  projects: ServiceClient<ProjectsServiceService>;
  /** The OpenAPI document. */
  openapi: Entity;
}

/** An operation of the OpenAPI document, and its handler. Both use the same schemas. Descriptions are in Markdown. */
export interface Route {
  /** Express also routes HEAD requests to a `get`. */
  method: 'get' | 'post';
  /** What the key needs; undefined: the operation needs no key. */
  access: KeyAccess | undefined;
  /** The function's name in generated clients. */
  operationId: string;
  tag: 'Calls' | 'Projects' | 'About';
  summary: string;
  description: string;
  path?: z.ZodObject;
  query?: z.ZodObject;
  headers?: z.ZodObject;
  /** `name` is the schema's name in the document. */
  body?: { name: string; description: string; schema: z.ZodType; examples: Examples };
  success: {
    status: 200 | 201;
    /** True: the response to a GET has no `ETag`. */
    untagged?: boolean;
    description: string;
    schema: z.ZodType;
    headers?: HeaderName[];
    examples: Examples;
  };
  /** By status, besides the refusals that all operations share. */
  refusals: Record<number, RefusalExample>;
  handle: (context: Context, request: Request, response: Response) => Promise<void>;
}

type Examples = Record<string, { summary: string; value: unknown }>;

export interface RefusalExample {
  /** When the refusal happens, in Markdown. */
  when: string;
  /** An example of the message. */
  message: string;
}
