import { Router } from 'express';
import { methodNotAllowed } from '@crs/kit/http/refusal';
import { stateOf } from '@crs/kit/http/request';
import type { Context } from '../context.ts';
import { notAcceptable } from '../http/refusal.ts';
import type { Table, Tables } from '../openapi/operation.ts';
import { createProject, createProjectOperation } from './create-project.ts';
import { getCall, getCallOperation } from './get-call.ts';
import { getOpenapi, getOpenapiOperation } from './get-openapi.ts';
import { getProject, getProjectOperation } from './get-project.ts';
import { listBillingOffices, listBillingOfficesOperation } from './list-billing-offices.ts';
import { listCalls, listCallsOperation } from './list-calls.ts';
import { listChanges, listChangesOperation } from './list-changes.ts';

/** The paths under /v1. The OpenAPI document is made from them. */
export const TABLES: Tables = {
  open: {
    '/openapi.json': { get: { operation: getOpenapiOperation, handle: getOpenapi } },
  },
  keyed: {
    '/calls': { get: { operation: listCallsOperation, handle: listCalls } },
    '/calls/:call_id': { get: { operation: getCallOperation, handle: getCall } },
    '/changes': { get: { operation: listChangesOperation, handle: listChanges } },
    '/billing-offices': { get: { operation: listBillingOfficesOperation, handle: listBillingOffices } },
    '/projects': { post: { operation: createProjectOperation, handle: createProject } },
    '/projects/:project_id': { get: { operation: getProjectOperation, handle: getProject } },
  },
};

/** A client may also name the charset, which the negotiator takes for another type. */
const MEDIA_TYPES = ['application/json', 'application/json; charset=utf-8'];

/** A router for the paths of a table. Requests for other paths pass through it. */
export function routes(table: Table, context: Context): Router {
  const router = Router({ caseSensitive: true, strict: true });
  for (const [path, { get, post }] of Object.entries(table)) {
    const allowed = [...(get ? ['GET', 'HEAD'] : []), ...(post ? ['POST'] : [])];
    const handlers = { get: get?.handle(context), post: post?.handle(context) };
    const route = `/v1${path.replace(/:(\w+)/g, '{$1}')}`;
    router.all(path, async (request, response) => {
      const method = request.method === 'POST' ? 'post' : ['GET', 'HEAD'].includes(request.method) ? 'get' : undefined;
      const state = stateOf(response);
      state.route = route;
      const handler = method && handlers[method];
      if (!handler) throw methodNotAllowed(allowed);
      state.facts.operation = { get, post }[method]!.operation.operationId;
      if (!request.accepts(MEDIA_TYPES)) throw notAcceptable();
      await handler(request, response);
    });
  }
  return router;
}
