import type { Request, Response } from 'express';
import type { z } from 'zod';
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

/** What is at a path: its operation in the OpenAPI document, and its handler, which reads requests by the same schemas. */
export interface Route {
  /** A HEAD request takes the route of GET. */
  method: 'get' | 'post';
  /** Whether it needs no key. */
  isOpen?: boolean;
  /** The function's name in generated clients. */
  operationId: string;
  tag: 'Calls' | 'Projects' | 'About';
  summary: string;
  /** Markdown. */
  description: string;
  path?: z.ZodObject;
  query?: z.ZodObject;
  headers?: z.ZodObject;
  /** `name` is the schema's name in the document. */
  body?: { name: string; description: string; schema: z.ZodType; examples: Examples };
  answer: Answer;
  /** By status. The refusals that all operations share are added to them. */
  refusals: Record<number, RefusalExample>;
  handle: (context: Context, request: Request, response: Response) => Promise<void>;
}

interface Answer {
  status: 200 | 201;
  /** Whether an answer to a read has no `ETag`. */
  untagged?: boolean;
  description: string;
  schema: z.ZodType;
  headers?: HeaderName[];
  examples: Examples;
}

export type Examples = Record<string, { summary: string; value: unknown }>;

export interface RefusalExample {
  /** Markdown. */
  when: string;
  /** An example of the message. */
  message: string;
}
