import { request as requestHttp, type Agent, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import { pipeline } from 'node:stream/promises';
import type { Request, Response } from 'express';
import { splitHostPort } from '@crs/kit/process/config';
import { deadlineExceeded, unavailable } from '@crs/kit/errors';
import { stateOf, traceHeaders } from '@crs/kit/http/request';
import type { Tls } from '@crs/kit/process/tls';

export interface Upstream {
  /** `host:port`. */
  address: string;
  /** An HTTPS agent if `tls` is set, otherwise an HTTP agent. */
  agent: Agent;
  tls: Tls | undefined;
}

export interface ForwardedRequest {
  /** Path and query. */
  target: string;
  body: Buffer;
  /** Names, in lower case, of the client's headers to forward. */
  keep: string[];
  /** Headers that the gateway adds. */
  headers: Record<string, string>;
}

/** Response headers that aren't forwarded: they belong to the connection, or the gateway sets them itself. */
const DROPPED_HEADERS =
  /^(connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|access-control-.*|server|x-powered-by|x-request-id)$/;

/**
 * Forwards a request to the upstream, and streams its response.
 * @throws ServiceError if the upstream is unavailable or too slow
 */
export async function forward(
  { address, agent, tls }: Upstream,
  request: Request,
  response: Response,
  { target, body, keep, headers }: ForwardedRequest,
): Promise<void> {
  const { deadline, signal: disconnected } = stateOf(response);
  const timeout = AbortSignal.timeout(Math.max(0, deadline - Date.now()));
  const { host, port } = splitHostPort(address);
  const options = {
    host,
    port,
    method: request.method,
    path: target,
    headers: { ...requestHeaders(request, keep), ...traceHeaders(response), ...headers },
    signal: AbortSignal.any([timeout, disconnected]),
  };
  const send = (agentOrNone: Agent | false) => {
    const outgoing = tls
      ? requestHttps({ ...options, agent: agentOrNone, ...tls.httpsRequestOptions(host) })
      : requestHttp({ ...options, agent: agentOrNone });
    return new Promise<IncomingMessage>((resolve, reject) => {
      const fail = (error: Error) => reject(Object.assign(error, { wasReused: outgoing.reusedSocket }));
      outgoing.on('response', resolve).on('error', fail);
      // A response with status 101 emits neither event.
      outgoing.on('close', () => fail(new Error('closed without a response')));
      outgoing.end(body);
    });
  };
  try {
    // The upstream may close an idle connection just when it is reused. A request that only reads is then retried; any other request always uses a
    // new connection.
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const upstreamResponse = await send(isRead && agent).catch((error: Error & { wasReused?: boolean }) => {
      if (error.wasReused !== true || options.signal.aborted) throw error;
      return send(false);
    });
    response.writeHead(upstreamResponse.statusCode!, responseHeaders(upstreamResponse.headers));
    await pipeline(upstreamResponse, response);
  } catch (error) {
    if (disconnected.aborted) return;
    throw timeout.aborted ? deadlineExceeded(error) : unavailable('Sign-in is not available.', error);
  }
}

function requestHeaders({ headersDistinct }: Request, keep: string[]): Record<string, string[]> {
  const dropped = namedIn(headersDistinct.connection?.join(','));
  const headers: Record<string, string[]> = {};
  for (const name of keep) {
    const values = headersDistinct[name];
    if (values && !dropped.has(name)) headers[name] = values;
  }
  return headers;
}

function responseHeaders(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const dropped = namedIn(headers.connection);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !DROPPED_HEADERS.test(name) && !dropped.has(name)));
}

/** Returns the headers that a `Connection` header names. They apply only to that connection, so they aren't forwarded. */
function namedIn(connection = ''): Set<string> {
  return new Set(connection.split(',').map((name) => name.trim().toLowerCase()));
}
