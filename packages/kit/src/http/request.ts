import { context, propagation, ROOT_CONTEXT, trace, type Span } from '@opentelemetry/api';
import type { NextFunction, Request, Response } from 'express';
import type { Logger } from '../process/log.ts';
import type { CallOptions } from '../rpc/client.ts';
import { deadlineExceeded } from '../errors.ts';
import { meter, SpanKind, SpanStatusCode, tracer } from '../process/telemetry.ts';
import { withTimeSpent, type TimeSpent } from '../process/time-spent.ts';
import type { RefusalCounts } from './refusal-counts.ts';
import type { AccessLogFields } from './access-log.ts';

/** A gateway's state of a request, in `response.locals`. */
export interface RequestState {
  /** The request id that the client gets, which is also the trace id. */
  id: string;
  span: Span;
  /** Epoch milliseconds. */
  deadline: number;
  /** Aborted when the client disconnects. */
  signal: AbortSignal;
  /** Set once the request's credential has been verified. */
  callerToken?: CallOptions['token'];
  /** Path template of the route that matched. */
  route?: string;
  /** Further fields of the request's access log line. */
  logFields: AccessLogFields;
}

export function stateOf(response: Response): RequestState {
  return response.locals['state'] as RequestState;
}

/** Returns the options for calls to services on behalf of the request. */
export function callOf(response: Response): CallOptions & { deadline: number } {
  const { callerToken, deadline, signal } = stateOf(response);
  return { token: callerToken, deadline, signal };
}

/** Returns headers that pass the request id and the trace on to another HTTP server. */
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
  /** Aggregates the log lines of refusals. Absent: each refusal is logged separately. */
  refusals?: { counts: RefusalCounts; /** The client's address, for limits. */ addressOf: (request: Request) => string };
  /** Whether only our own gateways send requests. Their trace, and with it their request id, is then continued. */
  isInternal?: boolean;
}

/**
 * Starts a trace for every request, and measures and logs the request when it ends. The trace id is the request id. A trace context from an external
 * client is only linked, because external clients must control neither our ids nor our sampling.
 */
export function traceRequests({ name, log, timeoutOf, addressOf, refusals, isInternal = false }: TraceOptions) {
  const spans = tracer(name);
  const duration = meter(name).createHistogram('http.server.request.duration', {
    unit: 's',
    description: 'Time until the response to a request was sent.',
  });
  return (request: Request, response: Response, next: NextFunction): void => {
    const started = performance.now();
    const sent = propagation.extract(ROOT_CONTEXT, request.headers);
    const external = isInternal ? undefined : trace.getSpanContext(sent);
    const links = external ? [{ context: external }] : [];
    const span = spans.startSpan(
      request.method,
      { kind: SpanKind.SERVER, root: !isInternal, links },
      isInternal ? sent : ROOT_CONTEXT,
    );
    const disconnected = new AbortController();
    const state: RequestState = {
      id: span.spanContext().traceId,
      span,
      deadline: Date.now() + timeoutOf(request),
      signal: disconnected.signal,
      logFields: {},
    };
    // Read now, because a closed socket no longer has its peer's address.
    const clientAddress = addressOf(request);
    const limitedAddress = refusals?.addressOf(request);
    const spent: TimeSpent = new Map();
    const traced = withTimeSpent(trace.setSpan(ROOT_CONTEXT, span), spent);
    response.locals['state'] = state;
    response.set({ 'X-Request-Id': state.id, 'Cache-Control': 'private, no-cache' });
    response.once('close', () => {
      if (!response.writableFinished) disconnected.abort(deadlineExceeded());
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
        seconds: rounded(seconds),
        services:
          seconds < SLOW_SECONDS ? undefined : Object.fromEntries([...spent].map(([name, time]) => [name, rounded(time)])),
        bytes: lengthOf(request, response),
        aborted: response.writableFinished ? undefined : true,
        client_address: clientAddress,
        ...state.logFields,
      };
      // Log in this request's context: the socket may close while another request's is active.
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

/** The log line of a request that takes at least this long has the time of each service. */
const SLOW_SECONDS = 1;

/** Rounds to microseconds. */
function rounded(seconds: number): number {
  return Math.round(seconds * 1e6) / 1e6;
}

/** Whether a request was refused for its credential or a limit. Clients may repeat such requests endlessly, so their log lines are aggregated. */
function isRefusal(status: number, { logFields }: RequestState): boolean {
  return status === 401 || status === 429 || logFields.tool_status === 429;
}

/** Returns a request's attributes in metrics. @param route path template, or `none` */
function attributesOf(method: string, route: string, status: number) {
  return {
    'http.request.method': KNOWN_METHODS.has(method) ? method : '_OTHER',
    'http.route': route,
    'http.response.status_code': status,
  };
}

/** The methods that metrics distinguish. A client may send any text as its method, which must not create new time series. */
const KNOWN_METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT']);

/** Returns the length of a response's body in bytes; undefined if the response has no Content-Length. */
function lengthOf({ method }: Request, response: Response): number | undefined {
  if (method === 'HEAD' || response.statusCode === 304) return 0;
  const length = response.getHeader('content-length');
  return length === undefined ? undefined : Number(length);
}
