import { Router } from 'express';
import { methodNotAllowed } from '@crs/kit/http/refusal';
import { stateOf } from '@crs/kit/http/request';
import { requireKey } from '../http/authentication.ts';
import { requireAccess } from '../http/key-access.ts';
import { notAcceptable } from '../http/refusal.ts';
import type { Context, Route } from '../route.ts';
import { createProject } from './create-project.ts';
import { getCall } from './get-call.ts';
import { getOpenapi } from './get-openapi.ts';
import { getProject } from './get-project.ts';
import { listBillingOffices } from './list-billing-offices.ts';
import { listCalls } from './list-calls.ts';
import { listChanges } from './list-changes.ts';

/** The routes by path under /v1. The OpenAPI document is generated from them. */
export const ROUTES: Record<string, Route> = {
  '/calls': listCalls,
  '/calls/:call_id': getCall,
  '/changes': listChanges,
  '/billing-offices': listBillingOffices,
  '/projects': createProject,
  '/projects/:project_id': getProject,
  '/openapi.json': getOpenapi,
};

/** The negotiator treats a type with a charset as another type, so both forms are listed. */
const MEDIA_TYPES = ['application/json', 'application/json; charset=utf-8'];

/** Creates the router of /v1. It checks the key first, so that a client without one learns nothing about paths, methods or formats. */
export function routes(context: Context): Router {
  const router = Router({ caseSensitive: true, strict: true });
  for (const [path, { method, access, operationId, handle }] of Object.entries(ROUTES)) {
    const route = router.route(path);
    if (access) route.all(requireKey);
    route.all((_request, response, next) => {
      stateOf(response).route = `/v1${path.replace(/:(\w+)/g, '{$1}')}`;
      next();
    });
    route[method](async (request, response) => {
      stateOf(response).logFields.operation = operationId;
      if (!request.accepts(MEDIA_TYPES)) throw notAcceptable();
      if (access) requireAccess(response, access);
      await handle(context, request, response);
    });
    route.all(() => {
      throw methodNotAllowed(method === 'get' ? ['GET', 'HEAD'] : ['POST']);
    });
  }
  router.use(requireKey);
  return router;
}
