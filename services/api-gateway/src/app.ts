import type { RequestListener } from 'node:http';
import type { NextFunction, Request, Response } from 'express';
import { answerErrors, createHttpApp } from '@crs/kit/http/app';
import { addressOf, fullAddressOf } from '@crs/kit/http/charge';
import { Refusal } from '@crs/kit/http/refusal';
import type { Logger } from '@crs/kit/process/log';
import type { Docs } from './docs/page.ts';
import { docsRoutes } from './docs/routes.ts';
import { admission, type AdmissionOptions } from './http/admission.ts';
import { routeNotFound, toRestRefusal } from './http/refusal.ts';
import type { Context } from './route.ts';
import { routes } from './routes/index.ts';

/** The order of checks: credential, one charge, key, path and method, media types, then the checks of the route. */
export function createApp(
  context: Context,
  docs: Docs,
  options: AdmissionOptions & { publicUrl: string; readTimeoutMs: number; writeTimeoutMs: number; log: Logger },
): RequestListener {
  const { app, listener } = createHttpApp({
    name: 'api-gateway',
    log: options.log,
    publicUrl: options.publicUrl,
    addressOf: (request) => fullAddressOf(options, request),
    refusals: { counts: options.refusals, addressOf: (request) => addressOf(options, request) },
    timeoutOf: ({ method }) => (method === 'POST' ? options.writeTimeoutMs : options.readTimeoutMs),
  });
  app.use(admission(options));
  app.use(requireHost);
  app.use('/v1', decodablePath, routes(context));
  app.use(docsRoutes(docs));
  app.use(() => {
    throw routeNotFound();
  });
  app.use(answerErrors(options.log, { refusalOf: toRestRefusal }));
  return listener;
}

/** Node's own check would answer without our envelope, so it is off. */
function requireHost(request: Request, _response: Response, next: NextFunction): void {
  const [host, ...more] = request.headersDistinct['host'] ?? [];
  if (more.length > 0 || (request.httpVersion === '1.1' && !host)) {
    throw new Refusal(400, 'bad_request', 'An HTTP/1.1 request needs a Host header, and one only.');
  }
  next();
}

/** Replaces a path segment that can't be decoded by one that is no id, so that it is answered like any other unknown id. */
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
