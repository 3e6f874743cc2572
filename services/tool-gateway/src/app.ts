import type { RequestListener } from 'node:http';
import express, { type NextFunction, type Request, type Response } from 'express';
import { envelope, Refusal, toRefusal } from '@crs/kit/http/refusal';
import { originForm, stateOf, traceRequests } from '@crs/kit/http/request';
import type { Logger } from '@crs/kit/process/log';
import type { Context } from './context.ts';
import { chargeStranger } from './http/limits.ts';
import { mcp, RpcRefusal, sendRpcError, type McpOptions } from './http/mcp.ts';
import { metadata } from './http/metadata.ts';
import { isPage, signIn, type SignInOptions } from './http/sign-in.ts';

export function createApp(context: Context, options: McpOptions & SignInOptions & { timeoutMs: number }): RequestListener {
  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false);
  app.set('query parser', false);
  app.enable('case sensitive routing');
  app.enable('strict routing');
  app.use(traceRequests('tool-gateway', options.log, () => options.timeoutMs));
  app.all('/mcp', mcp(context, options));
  app.use(signIn(options));
  app.use(async (request: Request, _response: Response, next: NextFunction) => {
    await chargeStranger(options, request);
    next();
  });
  app.use(metadata(options.origins.publicUrl));
  app.use(() => {
    throw new Refusal(404, 'not_found', 'There is nothing at this path. The tools are at /mcp.');
  });
  app.use(answerRefusal(options.log));
  return (request, response) => {
    request.url = originForm(request.url);
    app(request, response);
  };
}

function answerRefusal(log: Logger) {
  return (thrown: unknown, request: Request, response: Response, _next: NextFunction): void => {
    if (thrown instanceof RpcRefusal) {
      sendRpcError(response, 400, null, thrown.code, thrown.message);
      return;
    }
    const refusal = toRefusal(thrown);
    const { id } = stateOf(response);
    if (refusal.status >= 500) log.error({ err: refusal.cause, trace_id: id }, 'request not served');
    if (response.headersSent) {
      response.destroy();
      return;
    }
    const [type, body] = isPage(request)
      ? ['text/plain', `${refusal.message}\n\nRequest id: ${id}\n`]
      : ['application/json', envelope(refusal, id)];
    response.status(refusal.status).set({ ...refusal.headers, 'Content-Type': `${type}; charset=utf-8` });
    response.end(request.method === 'HEAD' ? undefined : body);
  };
}
