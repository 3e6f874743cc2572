import { context, propagation, ROOT_CONTEXT, trace, type Span } from '@opentelemetry/api';
import type { NextFunction, Request, Response } from 'express';
import type { Logger } from '../process/log.ts';
import type { CallOptions } from '../rpc/client.ts';
import { deadlineExceeded } from '../errors.ts';
import { meter, SpanKind, SpanStatusCode, tracer } from '../process/telemetry.ts';
import type { RefusalCounts } from './refusal-counts.ts';
import type { AccessLogFields } from './access-log.ts';

/** State of a request on its way through a gateway. */
export interface RequestState {
  /** The trace id. The client quotes it; logs and spans are found by it. */
  id: string;
  span: Span;
  /** Epoch milliseconds. */
  deadline: number;
  /** Aborted when the client is gone. */
  signal: AbortSignal;
  /** Set where the request carries a usable credential. */
  callerToken?: CallOptions['token'];
  /** Path template of the route that matched. */
  route?: string;
  /** For the request's line in the log. */
  logFields: AccessLogFields;
}

export function stateOf(response: Response): RequestState {
  return response.locals['state'] as RequestState;
}

/** Options of the calls that a request makes to services. */
export function callOf(response: Response): CallOptions & { deadline: number } {
  const { callerToken, deadline, signal } = stateOf(response);
  return { token: callerToken, deadline, signal };
}

/** Headers that carry a request's id and trace to the next HTTP server. */
export function traceHeaders(response: Response): Record<string, string> {
  const headers: Record<string, string> = { 'X-Request-Id': stateOf(response).id };
  propagation.inject(context.active(), headers);
  return headers;
}

export interface TraceOptions {
  /** The service's name in spans and metrics. */
  name: string;
  log: Logger;
  /** How long a request may take, in milliseconds. */
  timeoutOf: (request: Request) => number;
  /** The client's address, for the log. */
  addressOf: (request: Request) => string;
  /** Absent: each refusal has a line of its own. */
  refusals?: { counts: RefusalCounts; /** The client's address, for limits. */ addressOf: (request: Request) => string };
  /** Whether only our own gateways ask: their trace goes on, and with it the request id. */
  isInner?: boolean;
}

/**
 * Starts a trace for every request, and measures and logs the request when it ends. The trace id is the request id. An outside trace
 * context is only linked, because strangers must choose neither our ids nor our sampling.
 */
export function traceRequests({ name, log, timeoutOf, addressOf, refusals, isInner = false }: TraceOptions) {
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
      logFields: {},
    };
    // A closed socket no longer tells its peer.
    const clientAddress = addressOf(request);
    const limitedAddress = refusals?.addressOf(request);
    const traced = trace.setSpan(ROOT_CONTEXT, span);
    response.locals['state'] = state;
    response.set({ 'X-Request-Id': state.id, 'Cache-Control': 'private, no-cache' });
    response.once('close', () => {
      if (!response.writableFinished) gone.abort(deadlineExceeded());
      const seconds = (performance.now() - started) / 1000;
      const attributes = attributesOf(request.method, state.route ?? 'none', response.statusCode);
      duration.record(seconds, attributes);
      span.updateName(`${attributes['http.request.method']} ${attributes['http.route']}`);
      span.setAttributes(attributes);
      if (response.statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
      const line = {
        method: attributes['http.request.method'],
        route: attributes['http.route'],
        status: response.statusCode,
        seconds: Math.round(seconds * 1e6) / 1e6,
        bytes: lengthOf(request, response),
        aborted: response.writableFinished ? undefined : true,
        client_address: clientAddress,
        ...state.logFields,
      };
      // The socket may close in the trace of another request.
      if (isRefusal(response.statusCode, state) && limitedAddress !== undefined) {
        const client = {
          ...state.logFields,
          status: state.logFields.tool_status ?? response.statusCode,
          client_address: limitedAddress,
        };
        if (!refusals!.counts.count(client)) return;
      }
      context.with(traced, () => log.info(line, 'request'));
    });
    context.with(traced, next);
  };
}

/** Whether a request was refused for its credential or a limit: clients may repeat such requests without end. */
function isRefusal(status: number, { logFields }: RequestState): boolean {
  return status === 401 || status === 429 || logFields.tool_status === 429;
}

/** A request's labels in metrics. @param route path template, or `none` */
function attributesOf(method: string, route: string, status: number) {
  return {
    'http.request.method': KNOWN_METHODS.has(method) ? method : '_OTHER',
    'http.route': route,
    'http.response.status_code': status,
  };
}

/** Strangers can send any method; only these become labels of metrics. */
const KNOWN_METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT']);

/** The length of an answer's body, in bytes; undefined where the answer doesn't state it. */
function lengthOf({ method }: Request, response: Response): number | undefined {
  if (method === 'HEAD' || response.statusCode === 304) return 0;
  const length = response.getHeader('content-length');
  return length === undefined ? undefined : Number(length);
}
