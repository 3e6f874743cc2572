import { Router, type Request, type Response } from 'express';
import type { Context } from '../context.ts';
import { methodNotAllowed, notAcceptable } from '../http/refusal.ts';
import { stateOf } from '../http/request.ts';
import { createProject } from './create-project.ts';
import { getCall } from './get-call.ts';
import { getProject } from './get-project.ts';
import { listBillingOffices } from './list-billing-offices.ts';
import { listCalls } from './list-calls.ts';

type Handler = (request: Request, response: Response) => Promise<void>;

/** A client may name the charset, too; to the negotiator that is another type. */
const MEDIA_TYPES = ['application/json', 'application/json; charset=utf-8'];

/** The paths under /v1, each with its handlers by method. */
function table(context: Context): Record<string, { get?: Handler; post?: Handler }> {
  return {
    '/calls': { get: listCalls(context) },
    '/calls/:call_id': { get: getCall(context) },
    '/billing-offices': { get: listBillingOffices(context) },
    '/projects': { post: createProject(context) },
    '/projects/:project_id': { get: getProject(context) },
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
      if (!request.accepts(MEDIA_TYPES)) throw notAcceptable();
      await handler(request, response);
    });
  }
  return router;
}
