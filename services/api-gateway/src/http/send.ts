import { createHash } from 'node:crypto';
import type { Request, Response } from 'express';

const JSON_TYPE = 'application/json; charset=utf-8';

/** A body and its strong `ETag`. */
export interface Entity {
  type: string;
  body: Buffer;
  tag: string;
}

export function entity(type: string, body: Buffer): Entity {
  return { type, body, tag: `"${createHash('sha256').update(body).digest('base64url')}"` };
}

/** Answers 200 with JSON and a strong `ETag` over its bytes, or 304 if the client already has this body. */
export function sendJson(request: Request, response: Response, body: Buffer): void {
  send(request, response, entity(JSON_TYPE, body));
}

/** Answers 200, or 304 if the client already has the body. */
export function send(request: Request, response: Response, { type, body, tag }: Entity): void {
  response.set('ETag', tag);
  if (matches(request.headers['if-none-match'], tag)) {
    response.status(304).end();
    return;
  }
  sendBody(request, response, type, [body]);
}

/** Answers 200 with JSON that no client keeps for a later request. Its parts are sent one after the other, because a long one is dear to copy. */
export function sendJsonOnce(request: Request, response: Response, parts: Buffer[]): void {
  sendBody(request, response, JSON_TYPE, parts);
}

function sendBody(request: Request, response: Response, type: string, parts: Buffer[]): void {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  response.set({ 'Content-Type': type, 'Content-Length': String(length) });
  if (request.method !== 'HEAD') {
    response.cork();
    for (const part of parts) response.write(part);
  }
  response.end();
}

/**
 * Compares weakly with a list of tags, or `*`. Express's own check ignores the tags of requests with `Cache-Control: no-cache`, and `fetch`
 * adds that header to each request with an `If-None-Match`.
 */
function matches(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  return [...ifNoneMatch.matchAll(/"[^"]*"/g)].some(([given]) => given === tag);
}
