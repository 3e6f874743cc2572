import type { RequestListener } from 'node:http';
import type { NextFunction, Request, Response } from 'express';
import { errorHandler, createHttpApp } from '@crs/kit/http/app';
import { addressOf, fullAddressOf } from '@crs/kit/http/charge';
import type { Logger } from '@crs/kit/process/log';
import type { Docs } from './docs/page.ts';
import { docsRoutes } from './docs/routes.ts';
import { authenticate, type AuthenticationOptions } from './http/authentication.ts';
import { routeNotFound } from './http/refusal.ts';
import type { Context } from './route.ts';
import { routes } from './routes/index.ts';
import { RECORDS_MS } from './routes/put-records.ts';

/** Creates the app. It checks, in this order: the credential, the rate limit, the key, path and method, media types, and what the route checks. */
export function createApp(
  context: Context,
  docs: Docs,
  options: AuthenticationOptions & { publicUrl: string; writeTimeoutMs: number; log: Logger },
): RequestListener {
  const { app, listener } = createHttpApp({
    name: 'api-gateway',
    log: options.log,
    publicUrl: options.publicUrl,
    addressOf: (request) => fullAddressOf(options, request),
    refusals: { counts: options.refusals, addressOf: (request) => addressOf(options, request) },
    timeoutOf: ({ method, path }) => timeoutOf(method, path, options),
  });
  app.use(authenticate(options));
  app.use('/v1', decodablePath, routes(context));
  app.use(docsRoutes(docs));
  app.use(() => {
    throw routeNotFound();
  });
  app.use(errorHandler(options.log));
  return listener;
}

/** Returns the deadline of a request, in milliseconds. */
function timeoutOf(method: string, path: string, options: { readTimeoutMs: number; writeTimeoutMs: number }): number {
  if (method === 'GET' || method === 'HEAD') return options.readTimeoutMs;
  return path === '/v1/records' ? RECORDS_MS : options.writeTimeoutMs;
}

/** Escapes a path that Express can't decode and would refuse, so that it gets the same 404 as an unknown id. */
function decodablePath(request: Request, _response: Response, next: NextFunction): void {
  try {
    decodeURIComponent(request.path);
  } catch {
    request.url = request.url.replace(/^[^?]*/, (path) => path.replaceAll('%', '%25'));
  }
  next();
}
