import type { RequestListener } from 'node:http';
import express, { type NextFunction, type Request, type Response } from 'express';
import type { Logger } from '@crs/kit/process/log';
import type { Context } from './context.ts';
import { admission, requireKey, type AdmissionOptions } from './http/admission.ts';
import { envelope, Refusal } from '@crs/kit/http/refusal';
import { routeNotFound, toRestRefusal } from './http/refusal.ts';
import { originForm, stateOf, traceRequests } from '@crs/kit/http/request';
import type { Docs } from './docs/page.ts';
import { docsRoutes } from './docs/routes.ts';
import { routes, TABLES } from './routes/index.ts';

/** The order of checks: who asks, one charge, key, path and method, media types, then what the route itself checks. */
export function createApp(
  context: Context,
  docs: Docs,
  options: AdmissionOptions & { readTimeoutMs: number; writeTimeoutMs: number; log: Logger },
): RequestListener {
  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false);
  app.set('query parser', false);
  app.enable('case sensitive routing');
  app.enable('strict routing');
  app.use(
    traceRequests('api-gateway', options.log, ({ method }) =>
      method === 'POST' ? options.writeTimeoutMs : options.readTimeoutMs,
    ),
  );
  app.use(admission(options));
  app.use(requireHost);
  app.use('/v1', decodablePath, routes(TABLES.open, context), requireKey, routes(TABLES.keyed, context));
  app.use(docsRoutes(docs));
  app.use(() => {
    throw routeNotFound();
  });
  app.use(answerRefusal(options.log));
  return (request, response) => {
    request.url = originForm(request.url);
    app(request, response);
  };
}

/** Node would answer this itself, without our envelope, if it were told to check. */
function requireHost(request: Request, _response: Response, next: NextFunction): void {
  const [host, ...more] = request.headersDistinct['host'] ?? [];
  if (more.length > 0 || (request.httpVersion === '1.1' && !host)) {
    throw new Refusal(400, 'bad_request', 'An HTTP/1.1 request needs a Host header, and one only.');
  }
  next();
}

/** A path segment that can't be decoded becomes one that is no id, so that it is answered as any other unknown id is. */
function decodablePath(request: Request, _response: Response, next: NextFunction): void {
  const [path = '', query] = request.url.split(/\?(.*)/s, 2);
  if (path.includes('%')) {
    const decodable = path.split('/').map((segment) => (isDecodable(segment) ? segment : '%20'));
    request.url = decodable.join('/') + (query === undefined ? '' : `?${query}`);
  }
  next();
}

function isDecodable(segment: string): boolean {
  try {
    decodeURIComponent(segment);
    return true;
  } catch {
    return false;
  }
}

/** The one place where an error becomes an answer. The cause goes to the log, under the id that the client reads. */
function answerRefusal(log: Logger) {
  return (thrown: unknown, request: Request, response: Response, _next: NextFunction): void => {
    const refusal = toRestRefusal(thrown);
    const { id } = stateOf(response);
    if (refusal.status === 500) log.error({ err: refusal.cause, trace_id: id }, 'request failed');
    else if (refusal.status > 500) log.warn({ err: refusal.cause, trace_id: id }, 'request not served');
    if (response.headersSent) {
      response.destroy();
      return;
    }
    const body = envelope(refusal, id);
    response.status(refusal.status).set({ ...refusal.headers, 'Content-Type': 'application/json; charset=utf-8' });
    response.set('Content-Length', String(Buffer.byteLength(body)));
    if (request.method === 'HEAD') response.end();
    else response.end(body);
  };
}
