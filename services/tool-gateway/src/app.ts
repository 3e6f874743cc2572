import type { IncomingMessage, RequestListener } from 'node:http';
import type { NextFunction, Request, Response } from 'express';
import { errorHandler, createHttpApp } from '@crs/kit/http/app';
import { addressOf, fullAddressOf } from '@crs/kit/http/charge';
import { Refusal, renderEnvelope } from '@crs/kit/http/refusal';
import type { Context } from './context.ts';
import { chargePreflight, chargeUnauthenticated, isPreflight } from './http/limits.ts';
import { mcp, type McpOptions } from './http/mcp.ts';
import { metadata } from './http/metadata.ts';
import { isScim, renderScimError, scim, type ScimOptions } from './http/scim.ts';
import { isPage, signIn, type SignInOptions } from './http/sign-in.ts';
import { RpcRefusal } from './protocol/serve-tools.ts';

export function createApp(
  context: Context,
  options: McpOptions & SignInOptions & ScimOptions & { timeoutMs: number },
): RequestListener {
  const { app, listener } = createHttpApp({
    name: 'tool-gateway',
    log: options.log,
    publicUrl: options.origins.publicUrl,
    timeoutOf: () => options.timeoutMs,
    addressOf: (request) => fullAddressOf(options, request),
    refusals: { counts: options.refusals, addressOf: (request) => addressOf(options, request) },
  });
  app.use(async (request: Request, _response: Response, next: NextFunction) => {
    if (isPreflight(request)) await chargePreflight(options, request);
    next();
  });
  app.all('/mcp', mcp(context, options));
  app.use(scim(options));
  app.use(signIn(options));
  app.use(async (request: Request, _response: Response, next: NextFunction) => {
    if (!isPreflight(request)) await chargeUnauthenticated(options, request);
    next();
  });
  app.use(metadata(options.origins.publicUrl));
  app.use(() => {
    throw new Refusal(404, 'not_found', 'There is nothing at this path. The tools are at /mcp.');
  });
  app.use(errorHandler(options.log, render));
  return listener;
}

/** Renders an error as JSON-RPC, in the form of SCIM, as plain text on pages, or as the error envelope. */
function render(refusal: Refusal, id: string, request: IncomingMessage): [type: string, body: string] {
  if (refusal instanceof RpcRefusal) return ['application/json', refusal.body];
  if (isScim(request.url!)) return renderScimError(refusal);
  if (isPage(request)) return ['text/plain', `${refusal.message}\n\nRequest id: ${id}\n`];
  return renderEnvelope(refusal, id);
}
