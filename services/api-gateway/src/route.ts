import type { Request, Response } from 'express';
import type { z } from 'zod';
import type { FairQueue } from '@crs/kit/limits/fair-queue';
import type { RateLimiter } from '@crs/kit/limits/limiter';
import type { KeyAccess } from '@crs/kit/rpc/admitted-callers';
import type { ServiceClient } from '@crs/kit/rpc/client';
import type { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import type { CallsServiceService } from '@crs/proto/crs/calls/v1/calls';
import type { EntitiesServiceService } from '@crs/proto/crs/entities/v1/entities';
import type { FeedServiceService } from '@crs/proto/crs/feeds/v1/feeds';
import type { ProjectsServiceService } from '@crs/proto/crs/projects/v1/projects';
import type { Entity } from './http/send.ts';
import type { HeaderName } from './openapi/headers.ts';
import type { JsonSchema } from './openapi/json-schema.ts';
import type { RecordsService } from './records/records-client.ts';

export type RecordsClient = ServiceClient<typeof RecordsService>;

/** Dependencies of the routes. */
export interface Context {
  auth: ServiceClient<AuthServiceService>;
  calls: ServiceClient<CallsServiceService & FeedServiceService>;
  projects: ServiceClient<ProjectsServiceService & FeedServiceService>;
  entities: ServiceClient<EntitiesServiceService & FeedServiceService>;
  /** Clients of the services that store records. */
  records: Record<'auth' | 'calls' | 'projects' | 'entities', RecordsClient>;
  limiter: RateLimiter;
  /** Slots of large bodies of records. */
  bodies: FairQueue;
  /** Slots of small ones, which are whole. */
  smallBodies: FairQueue;
  /** The OpenAPI document. */
  openapi: Entity;
}

/** An operation of the OpenAPI document, and its handler. Both use the same schemas. Descriptions are in Markdown. */
export interface Route {
  /** Express also routes HEAD requests to a `get`. */
  method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** What the key needs; undefined: the operation needs no key. */
  access: KeyAccess | undefined;
  /** The function's name in generated clients. */
  operationId: string;
  tag: 'Calls' | 'Projects' | 'Entities' | 'Records' | 'About';
  summary: string;
  description: string;
  path?: z.ZodObject;
  query?: z.ZodObject;
  headers?: z.ZodObject;
  body?: RouteBody;
  /** How long the body may take to arrive, in milliseconds. Absent: as long as any. */
  bodyMs?: number;
  success: Success;
  /** Another successful response, with another status. */
  otherSuccess?: Success;
  /** By status, besides the refusals that all operations share. */
  refusals: Record<number, RefusalExample>;
  handle: (context: Context, request: Request, response: Response) => Promise<void>;
}

export interface RouteBody {
  /** The schema's name in the document. */
  name: string;
  /** Absent: JSON. */
  mediaType?: string;
  description: string;
  schema: z.ZodType | JsonSchema;
  examples: Examples;
}

export interface Success {
  status: 200 | 201 | 204;
  /** True: the response to a GET has no `ETag`. */
  untagged?: boolean;
  description: string;
  /** Absent: the response has no body. */
  schema?: z.ZodType;
  examples?: Examples;
  headers?: HeaderName[];
}

type Examples = Record<string, { summary: string; value: unknown }>;

export interface RefusalExample {
  /** When the refusal happens, in Markdown. */
  when: string;
  /** An example of the message. */
  message: string;
  /** An example of `error.details`. Absent: the error has none. */
  details?: unknown[];
  /** Whether the response has a `Retry-After`. By default 429, 503 and 504 have one. */
  retryAfter?: true;
}
