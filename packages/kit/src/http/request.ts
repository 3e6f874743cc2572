import { context, propagation, ROOT_CONTEXT, trace, type Span } from '@opentelemetry/api';
import type { NextFunction, Request, Response } from 'express';
import type { Logger } from '../process/log.ts';
import type { CallOptions } from '../rpc/client.ts';
import { deadlineExceeded } from '../errors.ts';
import { meter, SpanKind, SpanStatusCode, tracer } from '../process/telemetry.ts';

/** What is known of a request on its way through the gateway. */
export interface RequestState {
  /** The trace id: what the client quotes, and what finds its logs and spans. */
  id: string;
  span: Span;
  /** Epoch milliseconds. */
  deadline: number;
  /** Aborted when the client is gone. */
  signal: AbortSignal;
  /** Set where the request carries a usable credential. */
  callerToken?: string;
  /** Path template of the route that matched. */
  route?: string;
}

const states = new WeakMap<Response, RequestState>();

export function stateOf(response: Response): RequestState {
  const state = states.get(response);
  if (!state) throw new Error('the request has no state yet');
  return state;
}

/** How the request's calls to services are made. */
export function callOf(response: Response): CallOptions & { deadline: number } {
  const { callerToken, deadline, signal } = stateOf(response);
  return { token: callerToken, deadline, signal };
}

/** How a request is known to the next HTTP hop. */
export function traceHeaders(response: Response): Record<string, string> {
  const headers: Record<string, string> = { 'X-Request-Id': stateOf(response).id };
  propagation.inject(context.active(), headers);
  return headers;
}

/**
 * Every request starts a trace of its own, whose id is the request id: an outside trace context is only linked, since strangers
 * must not choose our ids or our sampling. Measures and logs the request when it ends.
 * @param options.isInner only a gateway of ours asks: its trace goes on, and its request id with it
 */
export function traceRequests(
  name: string,
  log: Logger,
  timeoutOf: (request: Request) => number,
  { isInner = false }: { isInner?: boolean } = {},
) {
  const spans = tracer(name);
  const duration = meter(name).createHistogram('http.server.request.duration', {
    unit: 's',
    description: 'Time to answer a request.',
  });
  return (request: Request, response: Response, next: NextFunction): void => {
    const started = performance.now();
    const sent = propagation.extract(ROOT_CONTEXT, request.headers);
    const outside = isInner ? undefined : trace.getSpanContext(sent);
    const links = outside ? [{ context: outside }] : [];
    const span = spans.startSpan(request.method, { kind: SpanKind.SERVER, root: !isInner, links }, isInner ? sent : ROOT_CONTEXT);
    const gone = new AbortController();
    const state: RequestState = {
      id: span.spanContext().traceId,
      span,
      deadline: Date.now() + timeoutOf(request),
      signal: gone.signal,
    };
    states.set(response, state);
    response.set({ 'X-Request-Id': state.id, 'Cache-Control': 'private, no-cache' });
    response.once('close', () => {
      if (!response.writableFinished) gone.abort(deadlineExceeded());
      const seconds = (performance.now() - started) / 1000;
      const attributes = {
        'http.request.method': KNOWN_METHODS.has(request.method) ? request.method : '_OTHER',
        'http.route': state.route ?? 'none',
        'http.response.status_code': response.statusCode,
      };
      duration.record(seconds, attributes);
      span.updateName(`${attributes['http.request.method']} ${attributes['http.route']}`);
      span.setAttributes(attributes);
      if (response.statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
      log.info(
        { method: request.method, route: attributes['http.route'], status: response.statusCode, seconds, trace_id: state.id },
        'request',
      );
    });
    context.with(trace.setSpan(ROOT_CONTEXT, span), next);
  };
}

/**
 * A request target without the origin that its absolute form has. What names no path becomes `*`, at which there is nothing: Express
 * itself answers targets that it can't parse, in HTML.
 */
export function originForm(target = '*'): string {
  const path = target.replace(/^https?:\/\/[^/?#]*/i, '');
  return path.startsWith('/') ? path : '*';
}

/** Others would let strangers make up time series. */
const KNOWN_METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT']);
