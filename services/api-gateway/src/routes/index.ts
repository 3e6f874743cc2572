import { Router, type Request, type Response } from 'express';
import { methodNotAllowed } from '@crs/kit/http/refusal';
import { stateOf } from '@crs/kit/http/request';
import { notAcceptable } from '../http/refusal.ts';
import type { Context, Route, Table, Tables } from '../route.ts';
import { createProject } from './create-project.ts';
import { getCall } from './get-call.ts';
import { getOpenapi } from './get-openapi.ts';
import { getProject } from './get-project.ts';
import { listBillingOffices } from './list-billing-offices.ts';
import { listCalls } from './list-calls.ts';
import { listChanges } from './list-changes.ts';

/** The paths under /v1. The OpenAPI document is made from them. */
export const TABLES: Tables = {
  open: {
    '/openapi.json': { get: getOpenapi },
  },
  keyed: {
    '/calls': { get: listCalls },
    '/calls/:call_id': { get: getCall },
    '/changes': { get: listChanges },
    '/billing-offices': { get: listBillingOffices },
    '/projects': { post: createProject },
    '/projects/:project_id': { get: getProject },
  },
};

/** A client may also name the charset, which the negotiator takes for another type. */
const MEDIA_TYPES = ['application/json', 'application/json; charset=utf-8'];

/** A router for the paths of a table. Requests for other paths pass through it. */
export function routes(table: Table, context: Context): Router {
  const router = Router({ caseSensitive: true, strict: true });
  const serve = (route: Route) => async (request: Request, response: Response) => {
    stateOf(response).facts.operation = route.operationId;
    if (!request.accepts(MEDIA_TYPES)) throw notAcceptable();
    await route.handle(context, request, response);
  };
  for (const [path, { get, post }] of Object.entries(table)) {
    const target = router.route(path).all((_request, response, next) => {
      stateOf(response).route = `/v1${path.replace(/:(\w+)/g, '{$1}')}`;
      next();
    });
    // Express serves HEAD by the handler of GET.
    if (get) target.get(serve(get));
    if (post) target.post(serve(post));
    target.all(() => {
      throw methodNotAllowed([...(get ? ['GET', 'HEAD'] : []), ...(post ? ['POST'] : [])]);
    });
  }
  return router;
}
