import type { Request, Response } from 'express';
import type { z } from 'zod';
import type { Context } from '../context.ts';
import type { HeaderName } from './headers.ts';

export type Handler = (request: Request, response: Response) => Promise<void>;

/** A method of a path: its description in the document, and its handler. */
export interface Route {
  operation: Operation;
  handle: (context: Context) => Handler;
}

/** Routes by path, relative to the prefix, and by method. */
export type Table = Record<string, { get?: Route; post?: Route }>;

/** Paths that need no key, and paths that do. */
export interface Tables {
  open: Table;
  keyed: Table;
}

/** The description of a route in the document. Its handler reads requests by the same schemas. */
export interface Operation {
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
}

export interface Answer {
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
