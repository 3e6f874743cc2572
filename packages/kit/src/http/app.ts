import type { RequestListener } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import type { Logger } from '../process/log.ts';
import { refusalFields } from './access-log.ts';
import { renderEnvelope, toRefusal, type Refusal } from './refusal.ts';
import { stateOf, traceRequests, type TraceOptions } from './request.ts';

/**
 * Creates an Express app that traces every request, and the request listener to serve it by. Routes are case-sensitive and distinguish a trailing slash.
 * Queries aren't parsed.
 * @param publicUrl the app's URL for clients. If it is https, browsers are told never to use http again
 */
export function createHttpApp({ publicUrl, ...options }: TraceOptions & { publicUrl?: string | undefined }): {
  app: Express;
  listener: RequestListener;
} {
  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false);
  app.set('query parser', false);
  app.enable('case sensitive routing');
  app.enable('strict routing');
  app.use(traceRequests(options));
  const isHttps = publicUrl?.startsWith('https:');
  const headers = { ...SECURITY_HEADERS, ...(isHttps && { 'Strict-Transport-Security': `max-age=${YEAR_SECONDS}` }) };
  app.use((_request: Request, response: Response, next: NextFunction) => {
    response.set(headers);
    next();
  });
  return {
    app,
    listener: (request, response) => {
      request.url = originForm(request.url);
      app(request, response);
    },
  };
}

const YEAR_SECONDS = 365 * 86_400;

/**
 * Headers of every response: a browser doesn't guess its type, runs nothing in it, and doesn't display it in a frame. HTML pages have their own policy.
 */
const SECURITY_HEADERS = {
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
};

/**
 * Removes the origin of a request target in absolute form. A target without a path becomes `*`, which no route matches: Express itself would respond with
 * an HTML page.
 */
function originForm(target = '*'): string {
  const path = target.replace(/^https?:\/\/[^/?#]*/i, '');
  return path.startsWith('/') ? path : '*';
}

/**
 * Refusals with these statuses are delayed for `DELAY_MS`. Otherwise a client that repeats its request without a pause could, with few connections, keep
 * the event loop busy.
 */
const DELAYED_STATUSES = new Set([413, 429]);
const DELAY_MS = 20;

/**
 * Returns the error handler of an app, the only place that turns an error into a response. The cause is logged with the request id that the client gets.
 * @param render returns the media type and the body of a response
 */
export function errorHandler(
  log: Logger,
  render: (refusal: Refusal, requestId: string, request: Request) => [type: string, body: string] = renderEnvelope,
) {
  return async (thrown: unknown, request: Request, response: Response, _next: NextFunction): Promise<void> => {
    const refusal = toRefusal(thrown);
    const { id, logFields } = stateOf(response);
    Object.assign(logFields, refusalFields(refusal));
    if (refusal.status === 500) log.error({ err: refusal.cause, trace_id: id }, 'request failed');
    else if (refusal.status > 500) log.warn({ err: refusal.cause, trace_id: id }, 'request not served');
    if (response.headersSent) {
      response.destroy();
      return;
    }
    if (DELAYED_STATUSES.has(refusal.status)) await sleep(DELAY_MS);
    const [type, body] = render(refusal, id, request);
    response.status(refusal.status).set({ ...refusal.headers, 'Content-Type': `${type}; charset=utf-8` });
    response.set('Content-Length', String(Buffer.byteLength(body)));
    response.end(request.method === 'HEAD' ? undefined : body);
  };
}
