import type { Request as ExpressRequest, Response as ExpressResponse } from 'express';
import { TypeIs } from 'type-is';
import { readBody } from '@crs/kit/http/body';
import { addressCheck, addressOf, type AddressCharging } from '@crs/kit/http/charge';
import { methodNotAllowed, Refusal, toRefusal } from '@crs/kit/http/refusal';
import type { RefusalCounts } from '@crs/kit/http/refusal-counts';
import type { RequestQueue } from '@crs/kit/http/request-queue';
import { credentialPrefix, loggedClientId } from '@crs/kit/http/access-log';
import { callOf, stateOf } from '@crs/kit/http/request';
import { timeSlices } from '@crs/kit/process/event-loop';
import type { Logger } from '@crs/kit/process/log';
import { meter } from '@crs/kit/process/telemetry';
import type { AuthenticateTokenResponse } from '@crs/proto/crs/auth/v1/auth';
import type { Context } from '../context.ts';
import { serveLegacy } from '../protocol/legacy.ts';
import { serveModern, speaksLegacy } from '../protocol/modern.ts';
import { RpcRefusal, type HttpResult, type ToolRequest } from '../protocol/serve-tools.ts';
import { TOOLS } from '../tools/index.ts';
import { sizeOfJson } from './json-size.ts';
import { chargeCall, chargeMessage, chargeUnauthenticated, isPreflight } from './limits.ts';
import { foreignRefusal, type Origins } from './origins.ts';
import type { Tokens } from './tokens.ts';

export interface McpOptions extends AddressCharging {
  tokens: Tokens;
  origins: Origins;
  queue: RequestQueue;
  refusals: RefusalCounts;
  log: Logger;
}

const JSON_TYPE = new TypeIs(['application/json']);

const UTF8 = new TextDecoder('utf-8', { fatal: true });

/** Bounds of a message, whose arguments are small. */
const MAX_VALUES = 1_000;
const MAX_DEPTH = 32;

/**
 * Creates the handler of `/mcp`. It checks, in this order: Origin and Host (a foreign one is charged to the address), token, method, media types, size, JSON,
 * batch, protocol, tool name, scope and rate limit. Then it waits for a slot and checks the arguments.
 */
export function mcp(context: Context, options: McpOptions) {
  const duration = meter('tool-gateway').createHistogram('crs.tool.call.duration', {
    unit: 's',
    description: 'Duration of tool calls, by the status that REST would have returned.',
  });
  return async (request: ExpressRequest, response: ExpressResponse): Promise<void> => {
    stateOf(response).route = '/mcp';
    const foreign = foreignRefusal(request, options.origins);
    if (foreign) {
      // The app has already charged preflights.
      if (!isPreflight(request)) await chargeUnauthenticated(options, request);
      throw foreign;
    }
    if (handleCors(request, response)) return;
    const user = await authenticate(request, response, options);
    const { logFields } = stateOf(response);
    if (request.method !== 'POST') throw methodNotAllowed(['POST']);
    checkMediaTypes(request);
    const bytes = await readBody(request).catch(async (error: unknown) => {
      // An incomplete body has cost the gateway as much as a message.
      await chargeMessage(options, user);
      throw error;
    });
    const body = parseMessage(bytes);
    logFields.operation = methodOf(body);
    const yieldWhenDue = timeSlices();
    const tools: ToolRequest = {
      context,
      call: { ...callOf(response), organization: user.organizationId, userId: user.userId, yieldWhenDue },
      response,
      admit: () => admit(body, user, response, options),
      arguments: (body as { params?: { arguments?: unknown } }).params?.arguments,
      // A tool's refusal is a result with status 200.
      measure: (tool, status, seconds) =>
        duration.record(seconds, { 'crs.tool.name': tool, 'http.response.status_code': status }),
      log: options.log,
    };
    const result = await serve(request, body, tools, options);
    await yieldWhenDue();
    const encoded = Buffer.from(result.body);
    await yieldWhenDue();
    send(result, encoded, response);
  };
}

/**
 * Checks tool name, scope and rate limit, and waits for a slot.
 * @returns the refusal that becomes the tool's result, if any
 * @throws Refusal 403 for a missing scope, 429 or 503 for a message that calls no tool
 */
async function admit(
  body: unknown,
  user: AuthenticateTokenResponse,
  response: ExpressResponse,
  options: McpOptions,
): Promise<Refusal | undefined> {
  const { method, params } = body as { method?: unknown; params?: { name?: unknown } };
  const tool = method === 'tools/call' ? TOOLS.find(({ name }) => name === params?.name) : undefined;
  if (tool && !user.scopes.includes(tool.scope)) throw options.tokens.insufficientScope(tool.scope);
  try {
    await (tool ? chargeCall(options, user) : chargeMessage(options, user));
    await options.queue.enter(user.organizationId, response);
    return undefined;
  } catch (error) {
    if (!tool) throw error;
    return toRefusal(error);
  }
}

/** Sets CORS headers, and responds to a preflight. @returns whether the request is a preflight */
function handleCors(request: ExpressRequest, response: ExpressResponse): boolean {
  const { origin } = request.headers;
  if (origin !== undefined) {
    response.set({
      'Access-Control-Allow-Origin': origin,
      'Access-Control-Expose-Headers': 'WWW-Authenticate, X-Request-Id, Retry-After',
      Vary: 'Origin',
    });
  }
  if (!isPreflight(request)) return false;
  response.set({
    'Access-Control-Allow-Methods': 'POST',
    'Access-Control-Allow-Headers': 'Authorization, Content-Type, MCP-Protocol-Version, Mcp-Method, Mcp-Name',
    'Access-Control-Max-Age': '600',
  });
  response.status(204).end();
  return true;
}

/**
 * Authenticates the user. A request without a valid token is charged to its address.
 * @throws Refusal 401 or 429, ServiceError if auth is unavailable
 */
async function authenticate(
  request: ExpressRequest,
  response: ExpressResponse,
  options: McpOptions,
): Promise<AuthenticateTokenResponse> {
  try {
    const user = await options.tokens.resolve(request.headers.authorization, {
      deadline: stateOf(response).deadline,
      check: addressCheck(addressOf(options, request), options.addressLimit),
    });
    const { callerTokens, organizationId: organization, grantId: grant_id, userId: user_id } = user;
    const state = stateOf(response);
    state.callerToken = callerTokens;
    Object.assign(state.logFields, { organization, grant_id, user_id, client_id: loggedClientId(user.clientId) });
    return user;
  } catch (error) {
    await chargeUnauthenticated(options, request);
    stateOf(response).logFields.credential = credentialPrefix(request.headers.authorization);
    throw error;
  }
}

function checkMediaTypes(request: ExpressRequest): void {
  if (!JSON_TYPE.is(request.headers['content-type'] ?? '')) {
    throw new Refusal(415, 'bad_request', 'The body must be JSON: send "Content-Type: application/json".');
  }
  if (!request.accepts('application/json') || !request.accepts('text/event-stream')) {
    throw new Refusal(406, 'bad_request', 'The Accept header must admit application/json and text/event-stream.');
  }
}

/** Methods that are logged by name. A client may send any text as its method. */
const METHODS = new Set(['initialize', 'notifications/initialized', 'ping', 'server/discover', 'tools/call', 'tools/list']);

function methodOf(body: unknown): string {
  const { method } = body as { method?: unknown };
  return typeof method === 'string' && METHODS.has(method) ? method : 'other';
}

/** Parses a JSON-RPC message. @throws RpcRefusal 400 */
function parseMessage(bytes: Buffer): object {
  const { values, depth } = sizeOfJson(bytes);
  if (values > MAX_VALUES || depth > MAX_DEPTH) {
    throw new RpcRefusal(-32600, `A message has at most ${MAX_VALUES} JSON values, nested at most ${MAX_DEPTH} deep.`);
  }
  let body: unknown;
  try {
    body = JSON.parse(UTF8.decode(bytes));
  } catch {
    throw new RpcRefusal(-32700, 'The body is not valid JSON.');
  }
  if (Array.isArray(body)) throw new RpcRefusal(-32600, 'Batches are not part of the protocol: send one message a request.');
  if (typeof body !== 'object' || body === null) throw new RpcRefusal(-32600, 'The body is not a JSON-RPC message.');
  return body;
}

async function serve(request: ExpressRequest, body: object, tools: ToolRequest, { origins }: McpOptions): Promise<HttpResult> {
  const web = toWebRequest(request, origins.publicUrl);
  if (await speaksLegacy(web, body)) return serveLegacy(request.get('mcp-protocol-version'), body, tools);
  return serveModern(web, body, tools);
}

/** Converts the request for the newer SDK, without the body, which it gets separately. */
function toWebRequest(request: ExpressRequest, publicUrl: string): Request {
  const headers = new Headers();
  for (const [name, values] of Object.entries(request.headersDistinct))
    for (const value of values ?? []) headers.append(name, value);
  // Already checked. The SDK requires exactly this text.
  headers.set('accept', 'application/json, text/event-stream');
  return new Request(`${publicUrl}/mcp`, { method: 'POST', headers });
}

function send({ status, headers }: HttpResult, body: Buffer, response: ExpressResponse): void {
  response.status(status);
  for (const [name, value] of headers) response.set(name, value);
  // The response to a notification has neither a body nor a Content-Length.
  if (body.length > 0) response.set('Content-Length', String(body.length));
  response.end(body);
}
