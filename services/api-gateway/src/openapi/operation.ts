import type { Request, Response } from 'express';
import type { z } from 'zod';
import type { Context } from '../context.ts';
import type { HeaderName } from './headers.ts';

export type Handler = (request: Request, response: Response) => Promise<void>;

/** A method of a path: what is promised of it, and what keeps the promise. */
export interface Route {
  operation: Operation;
  handle: (context: Context) => Handler;
}

/** Paths, relative to their prefix, each with its routes by method. */
export type Table = Record<string, { get?: Route; post?: Route }>;

/** The paths by whether they need a key. */
export interface Tables {
  open: Table;
  keyed: Table;
}

/** What the document says of a route. The schemas are those by which its handler reads requests. */
export interface Operation {
  /** For generated clients: the name of a function. */
  operationId: string;
  tag: 'Calls' | 'Projects' | 'About';
  summary: string;
  /** Markdown. */
  description: string;
  path?: z.ZodObject;
  query?: z.ZodObject;
  headers?: z.ZodObject;
  /** `name` is that of its schema in the document. */
  body?: { name: string; description: string; schema: z.ZodType; examples: Examples };
  answer: Answer;
  /** By status, besides those that every operation of its kind has. */
  refusals: Record<number, RefusalExample>;
}

export interface Answer {
  status: 200 | 201;
  description: string;
  schema: z.ZodType;
  headers?: HeaderName[];
  examples: Examples;
}

export type Examples = Record<string, { summary: string; value: unknown }>;

export interface RefusalExample {
  /** Markdown. */
  when: string;
  /** A message as it may be read. */
  message: string;
}
