import express, { Router, type NextFunction, type Request, type RequestHandler, type Response } from 'express';
import { stateOf } from '@crs/kit/http/request';
import { authenticate, type ScimCall, type ScimContext } from './context.ts';
import { listAll, resourceTypes, schemas, serviceProviderConfig } from './discovery.ts';
import * as groups from './groups.ts';
import { parseListQuery, parseSelection } from './list.ts';
import { noSuchResource, renderError, ScimError, toScimError } from './scim-error.ts';
import * as users from './users.ts';

export const SCIM_PATH = '/scim/v2';
const MAX_BODY = '1mb';
const MEDIA_TYPES = ['application/scim+json', 'application/json'];

/** A request after its token has been checked. */
interface Visit {
  call: ScimCall;
  id: string;
  parameters: URLSearchParams;
  body: unknown;
}

type Reply = { status?: number; body?: object; location?: string };
type Handle = (visit: Visit) => Promise<Reply> | Reply;
type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** SCIM 2.0 (RFC 7643, RFC 7644) for an organization's directory. */
export function scimRoutes(context: ScimContext): Router {
  const router = Router({ caseSensitive: true, strict: true });
  const parse = express.json({ limit: MAX_BODY, type: MEDIA_TYPES, inflate: false }) as RequestHandler;
  const route = (path: string, methods: Partial<Record<Method, Handle>>) => {
    const admit = async (request: Request, response: Response, next: NextFunction) => {
      stateOf(response).route = SCIM_PATH + path;
      response.locals['call'] = await authenticate(context, request, response);
      if (!methods[request.method as Method]) throw methodNotAllowed(Object.keys(methods));
      if (hasBody(request.method)) requireJson(request);
      next();
    };
    router.all(path, admit, parse, async (request: Request, response: Response) => {
      const call = response.locals['call'] as ScimCall;
      const handle = methods[request.method as Method]!;
      const { searchParams: parameters } = new URL(request.originalUrl, 'http://path.invalid');
      const id = (request.params as { id?: string }).id ?? '';
      send(response, await handle({ call, id, parameters, body: request.body as unknown }));
    });
  };

  const ok = (body: object): Reply => ({ body });
  const created = async (call: ScimCall, kind: string, work: Promise<{ id: string; resource: object }>): Promise<Reply> => {
    const { id, resource } = await work;
    return { status: 201, body: resource, location: call.locationOf(`/${kind}/${id}`) };
  };
  const gone: Reply = { status: 204 };

  route('/ServiceProviderConfig', { GET: ({ call }) => ok(serviceProviderConfig(call.locationOf)) });
  for (const [path, all] of [
    ['/ResourceTypes', resourceTypes],
    ['/Schemas', schemas],
  ] as const) {
    route(path, { GET: ({ call }) => ok(listAll(all(call.locationOf))) });
    route(`${path}/:id`, { GET: ({ call, id }) => ok(requireFound(all(call.locationOf), id)) });
  }
  route('/Users', {
    GET: async ({ call, parameters }) => ok(await users.listUsers(call, parseListQuery(parameters))),
    POST: ({ call, body, parameters }) => created(call, 'Users', users.createUser(call, body, parseSelection(parameters))),
  });
  route('/Users/:id', {
    GET: async ({ call, id, parameters }) => ok(await users.getUser(call, id, parseSelection(parameters))),
    PUT: async ({ call, id, body, parameters }) => ok(await users.replaceUser(call, id, body, parseSelection(parameters))),
    PATCH: async ({ call, id, body, parameters }) => ok(await users.modifyUser(call, id, body, parseSelection(parameters))),
    DELETE: async ({ call, id }) => (await users.deleteUser(call, id), gone),
  });
  route('/Groups', {
    GET: async ({ call, parameters }) => ok(await groups.listGroups(call, parseListQuery(parameters))),
    POST: ({ call, body, parameters }) => created(call, 'Groups', groups.createGroup(call, body, parseSelection(parameters))),
  });
  route('/Groups/:id', {
    GET: async ({ call, id, parameters }) => ok(await groups.getGroup(call, id, parseSelection(parameters))),
    PUT: async ({ call, id, body, parameters }) => ok(await groups.replaceGroup(call, id, body, parseSelection(parameters))),
    PATCH: async ({ call, id, body, parameters }) => {
      const group = await groups.modifyGroup(call, id, body, parseSelection(parameters));
      return group ? ok(group) : gone;
    },
    DELETE: async ({ call, id }) => (await groups.deleteGroup(call, id), gone),
  });
  router.use(async (request: Request, response: Response) => {
    await authenticate(context, request, response);
    throw new ScimError(404, 'There is nothing at this path.');
  });
  router.use(errorHandler(context));
  return router;
}

function requireFound(resources: Record<string, object>, id: string): object {
  const found = Object.hasOwn(resources, id) ? resources[id] : undefined;
  if (!found) throw noSuchResource();
  return found;
}

function hasBody(method: string): boolean {
  return method === 'POST' || method === 'PUT' || method === 'PATCH';
}

function requireJson(request: Request): void {
  if (request.is(MEDIA_TYPES) === false) throw new ScimError(415, `The body must be ${MEDIA_TYPES.join(' or ')}.`);
}

function methodNotAllowed(allowed: string[]): ScimError {
  const allow = allowed.join(', ');
  return new ScimError(405, `This path answers ${allow} only.`, { headers: { Allow: allow } });
}

function send(response: Response, { status = 200, body, location }: Reply): void {
  response.status(status);
  if (location !== undefined) response.set('Location', location);
  if (!body) {
    response.end();
    return;
  }
  const encoded = Buffer.from(JSON.stringify(body));
  response.set({ 'Content-Type': 'application/scim+json; charset=utf-8', 'Content-Length': String(encoded.length) });
  response.end(encoded);
}

function errorHandler({ log }: ScimContext) {
  return (thrown: unknown, _request: Request, response: Response, _next: NextFunction): void => {
    const error = toScimError(thrown);
    if (error.status >= 500) log.error({ err: error.cause, trace_id: stateOf(response).id }, 'request not served');
    if (response.headersSent) {
      response.destroy();
      return;
    }
    response.set(error.headers);
    send(response, { status: error.status, body: renderError(error) });
  };
}
