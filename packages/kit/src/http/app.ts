import type { RequestListener } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import type { Logger } from '../process/log.ts';
import { refusalFields } from './access-log.ts';
import { renderEnvelope, toRefusal, type Refusal } from './refusal.ts';
import { stateOf, traceRequests, type TraceOptions } from './request.ts';

/**
 * An Express app that traces every request, and the listener that hands it requests. Routes are strict: case and a slash at the end
 * matter. Queries stay text.
 * @param publicUrl by which clients know the app. Where it is https, browsers are told never to use http again.
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
  const headers = { ...INERT, ...(isHttps && { 'Strict-Transport-Security': `max-age=${YEAR_SECONDS}` }) };
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
 * Headers of every answer; pages replace the policy. A browser that opens an answer takes it for what it is, runs nothing in it and shows
 * it in no frame.
 */
const INERT = {
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
};

/**
 * A request target without the origin that its absolute form has. A target without a path becomes `*`, at which there is nothing: Express
 * itself would answer it in HTML.
 */
function originForm(target = '*'): string {
  const path = target.replace(/^https?:\/\/[^/?#]*/i, '');
  return path.startsWith('/') ? path : '*';
}

/**
 * The statuses of refusals that a client can cause without end, and how long such a refusal is held back (milliseconds). Otherwise a client
 * that repeats its request without a pause, on a few connections, would fill the event loop.
 */
const HELD_BACK = new Set([413, 429]);
const HOLD_MS = 20;

/**
 * The last handler of an app: the one place where an error becomes an answer. The cause goes to the log, under the id that the client
 * reads.
 * @param render the media type and the body of an answer
 */
export function answerErrors(
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
    if (HELD_BACK.has(refusal.status)) await sleep(HOLD_MS);
    const [type, body] = render(refusal, id, request);
    response.status(refusal.status).set({ ...refusal.headers, 'Content-Type': `${type}; charset=utf-8` });
    response.set('Content-Length', String(Buffer.byteLength(body)));
    response.end(request.method === 'HEAD' ? undefined : body);
  };
}
