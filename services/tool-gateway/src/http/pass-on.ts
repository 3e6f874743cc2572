import { request as askHttp, type Agent, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { request as askHttps } from 'node:https';
import { pipeline } from 'node:stream/promises';
import type { Request, Response } from 'express';
import { splitHostPort } from '@crs/kit/process/config';
import { deadlineExceeded, unavailable } from '@crs/kit/errors';
import { stateOf, traceHeaders } from '@crs/kit/http/request';
import type { Tls } from '@crs/kit/process/tls';

export interface Upstream {
  /** `host:port`. */
  address: string;
  /** An agent for HTTPS if there is `tls`, else for HTTP. */
  agent: Agent;
  tls: Tls | undefined;
}

export interface Passed {
  /** Path and query. */
  target: string;
  body: Buffer;
  /** Names of the client's headers that are passed on, in lower case. */
  keep: string[];
  /** Headers that the gateway adds. */
  headers: Record<string, string>;
}

/** Headers of the upstream's answer that aren't passed on: they belong to the connection, or the gateway sets them itself. */
const NOT_OUTWARD =
  /^(connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|access-control-.*|server|x-powered-by|x-request-id)$/;

/**
 * Passes a request on to the upstream and streams its answer.
 * @throws ServiceError where the upstream is away or too slow
 */
export async function passOn(
  { address, agent, tls }: Upstream,
  request: Request,
  response: Response,
  { target, body, keep, headers }: Passed,
): Promise<void> {
  const { deadline, signal: gone } = stateOf(response);
  const late = AbortSignal.timeout(Math.max(0, deadline - Date.now()));
  const { host, port } = splitHostPort(address);
  const options = {
    host,
    port,
    method: request.method,
    path: target,
    headers: { ...inward(request, keep), ...traceHeaders(response), ...headers },
    signal: AbortSignal.any([late, gone]),
  };
  const askBy = (by: Agent | false) => {
    const outgoing = tls
      ? askHttps({ ...options, agent: by, ...tls.httpsRequestOptions(host) })
      : askHttp({ ...options, agent: by });
    return new Promise<IncomingMessage>((resolve, reject) => {
      const fail = (error: Error) => reject(Object.assign(error, { wasReused: outgoing.reusedSocket }));
      outgoing.on('response', resolve).on('error', fail);
      // An answer with status 101 causes neither event.
      outgoing.on('close', () => fail(new Error('closed without an answer')));
      outgoing.end(body);
    });
  };
  try {
    // The upstream may close a kept connection at the moment of its use. A request that only reads is then repeated; any other request
    // takes a new connection from the start.
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const answer = await askBy(isRead && agent).catch((error: Error & { wasReused?: boolean }) => {
      if (error.wasReused !== true || options.signal.aborted) throw error;
      return askBy(false);
    });
    response.writeHead(answer.statusCode!, outward(answer.headers));
    await pipeline(answer, response);
  } catch (error) {
    if (gone.aborted) return;
    throw late.aborted ? deadlineExceeded(error) : unavailable('Sign-in is not available.', error);
  }
}

function inward({ headersDistinct }: Request, keep: string[]): Record<string, string[]> {
  const dropped = namedIn(headersDistinct.connection?.join(','));
  const headers: Record<string, string[]> = {};
  for (const name of keep) {
    const values = headersDistinct[name];
    if (values && !dropped.has(name)) headers[name] = values;
  }
  return headers;
}

function outward(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const dropped = namedIn(headers.connection);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !NOT_OUTWARD.test(name) && !dropped.has(name)));
}

/** The headers that a `Connection` header names; they are for this connection alone. */
function namedIn(connection = ''): Set<string> {
  return new Set(connection.split(',').map((name) => name.trim().toLowerCase()));
}
