import { Router } from 'express';
import { allowBodyTime } from '@crs/kit/http/listener';
import { methodNotAllowed } from '@crs/kit/http/refusal';
import { stateOf } from '@crs/kit/http/request';
import { requireKey } from '../http/authentication.ts';
import { requireAccess } from '../http/key-access.ts';
import { notAcceptable } from '../http/refusal.ts';
import type { Context, Route } from '../route.ts';
import { createProject } from './create-project.ts';
import { deleteCall } from './delete-call.ts';
import { getCall } from './get-call.ts';
import { getOpenapi } from './get-openapi.ts';
import { getProject } from './get-project.ts';
import { listBillingOffices } from './list-billing-offices.ts';
import { listCalls } from './list-calls.ts';
import { listChanges } from './list-changes.ts';
import { listEntities } from './list-entities.ts';
import { listProjects } from './list-projects.ts';
import { patchCall } from './patch-call.ts';
import { putCall } from './put-call.ts';
import { putRecords } from './put-records.ts';

/** The routes by path under /v1, which differ by method. The OpenAPI document is generated from them. */
export const ROUTES: Record<string, readonly [Route, ...Route[]]> = {
  '/calls': [listCalls],
  '/calls/:call_id': [getCall, putCall, patchCall, deleteCall],
  '/changes': [listChanges],
  '/records': [putRecords],
  '/billing-offices': [listBillingOffices],
  '/projects': [listProjects, createProject],
  '/projects/:project_id': [getProject],
  '/entities': [listEntities],
  '/openapi.json': [getOpenapi],
};

/** The negotiator treats a type with a charset as another type, so both forms are listed. */
const MEDIA_TYPES = ['application/json', 'application/json; charset=utf-8'];

/** Creates the router of /v1. It checks the key first, so that a client without one learns nothing about paths, methods or formats. */
export function routes(context: Context): Router {
  const router = Router({ caseSensitive: true, strict: true });
  for (const [path, operations] of Object.entries(ROUTES)) {
    const route = router.route(path);
    if (operations[0].access) route.all(requireKey);
    route.all((_request, response, next) => {
      stateOf(response).route = `/v1${path.replace(/:(\w+)/g, '{$1}')}`;
      next();
    });
    for (const { method, access, operationId, bodyMs, handle } of operations) {
      route[method](async (request, response) => {
        stateOf(response).logFields.operation = operationId;
        if (bodyMs !== undefined) allowBodyTime(request, bodyMs);
        if (!request.accepts(MEDIA_TYPES)) throw notAcceptable();
        if (access) requireAccess(response, access);
        await handle(context, request, response);
      });
    }
    const allowed = operations.flatMap(({ method }) => (method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()]));
    route.all(() => {
      throw methodNotAllowed(allowed);
    });
  }
  router.use(requireKey);
  return router;
}
