import { createHash, type Hash } from 'node:crypto';
import { timeSlices } from '@crs/kit/process/event-loop';
import type { Request, Response } from 'express';

const JSON_TYPE = 'application/json; charset=utf-8';

/** A body and its strong `ETag`. */
export interface Entity {
  type: string;
  body: Buffer;
  tag: string;
}

export function entity(type: string, body: Buffer): Entity {
  return { type, body, tag: tagOf(createHash('sha256').update(body)) };
}

function tagOf(hash: Hash): string {
  return `"${hash.digest('base64url')}"`;
}

/** Hashing this much takes 0.5 to 2 ms. */
const STEP_BYTES = 512 * 1024;

/** Responds 200 with JSON and a strong `ETag` of its bytes, or 304 if the client already has this body. @param parts as in {@link sendJsonOnce} */
export async function sendJson(request: Request, response: Response, parts: Buffer[]): Promise<void> {
  const hash = createHash('sha256');
  const yieldWhenDue = timeSlices();
  for (const part of parts) {
    for (let at = 0; at < part.length; at += STEP_BYTES) {
      if (at > 0) await yieldWhenDue();
      hash.update(part.subarray(at, at + STEP_BYTES));
    }
  }
  sendTagged(request, response, JSON_TYPE, tagOf(hash), parts);
}

/** Responds like {@link sendJson} with a page of a list. @param data a JSON array */
export function sendList(request: Request, response: Response, data: Buffer, nextCursor: string | undefined): Promise<void> {
  const end = `,"next_cursor":${JSON.stringify(nextCursor ?? null)}}`;
  return sendJson(request, response, [Buffer.from('{"data":'), data, Buffer.from(end)]);
}

/** Responds 200, or 304 if the client already has the body. */
export function send(request: Request, response: Response, { type, body, tag }: Entity): void {
  sendTagged(request, response, type, tag, [body]);
}

function sendTagged(request: Request, response: Response, type: string, tag: string, parts: Buffer[]): void {
  response.set('ETag', tag);
  if (matches(request.headers['if-none-match'], tag)) {
    response.status(304).end();
    return;
  }
  sendBody(request, response, type, parts);
}

/** Responds 200 with JSON without an `ETag`, for responses that clients never revalidate. Doesn't concatenate the parts, which may be large. */
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
 * Whether `If-None-Match` (a list of tags, or `*`) matches, by weak comparison. Express's own check ignores the header in requests with
 * `Cache-Control: no-cache`, which `fetch` adds to each request with an `If-None-Match`.
 */
function matches(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  return [...ifNoneMatch.matchAll(/"[^"]*"/g)].some(([given]) => given === tag);
}
