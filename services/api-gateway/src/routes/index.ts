import { Router, type Request, type Response } from 'express';
import type { Context } from '../context.ts';
import { methodNotAllowed, notAcceptable } from '../http/refusal.ts';
import { stateOf } from '../http/request.ts';
import { getCall } from './get-call.ts';
import { listCalls } from './list-calls.ts';

type Handler = (request: Request, response: Response) => Promise<void>;

/** The paths under /v1, each with its handlers by method. */
function table(context: Context): Record<string, { get?: Handler; post?: Handler }> {
  return {
    '/calls': { get: listCalls(context) },
    '/calls/:call_id': { get: getCall(context) },
  };
}

export function v1(context: Context): Router {
  const router = Router({ caseSensitive: true, strict: true });
  for (const [path, handlers] of Object.entries(table(context))) {
    const allowed = [...(handlers.get ? ['GET', 'HEAD'] : []), ...(handlers.post ? ['POST'] : [])];
    router.all(path, async (request, response) => {
      stateOf(response).route = `/v1${path.replace(/:(\w+)/g, '{$1}')}`;
      const handler =
        request.method === 'POST' ? handlers.post : ['GET', 'HEAD'].includes(request.method) ? handlers.get : undefined;
      if (!handler) throw methodNotAllowed(allowed);
      if (!request.accepts('application/json')) throw notAcceptable();
      await handler(request, response);
    });
  }
  return router;
}
