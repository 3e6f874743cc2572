import {
  Metadata,
  status,
  type Client,
  type MethodDefinition,
  type ServiceDefinition,
  type ServiceError as GrpcFailure,
} from '@grpc/grpc-js';
import { context, propagation, trace, type Span } from '@opentelemetry/api';
import CircuitBreaker from 'opossum';
import { decodeError, notAvailable } from './wire-errors.ts';
import { REASONS, ServiceError } from '../errors.ts';
import { splitHostPort } from '../process/config.ts';
import { Channel } from './channel.ts';
import { failSpan, meter, observeGauge, SpanKind, tracer } from '../process/telemetry.ts';
import { addTimeSpent } from '../process/time-spent.ts';
import { channelCredentials, type Tls } from '../process/tls.ts';

/** Options of a call. A handler's `CallContext` can be passed as one. */
export interface CallOptions {
  /** Caller or operator token, or caller tokens keyed by the service that accepts each. */
  token?: string | Record<string, string> | undefined;
  /** Epoch milliseconds. The client's own timeout applies if it is earlier. */
  deadline?: number;
  signal?: AbortSignal;
}

type RequestOf<M> = M extends { requestSerialize: (value: infer R) => Buffer } ? R : never;
type ResponseOf<M> = M extends { responseDeserialize: (bytes: Buffer) => infer R } ? R : never;

/** The methods of a service as async functions. They throw `ServiceError` only. */
export type ServiceClient<D> = {
  [M in keyof D]: (request: RequestOf<D[M]>, options?: CallOptions) => Promise<ResponseOf<D[M]>>;
} & { close(): void };

export interface ClientOptions {
  /** Name of the target service, in error texts and metrics. */
  name: string;
  /** `host:port`. The name is resolved repeatedly, and calls are balanced over all its addresses. */
  address: string;
  timeoutMs: number;
  /** Whether to repeat a call on UNAVAILABLE. Only for services whose calls may be repeated. */
  retry: boolean;
  /** Absent: plaintext. */
  tls?: Tls | undefined;
  /** The name that the server's certificate must have, if it isn't the address's host, as with a port-forward. */
  serverName?: string | undefined;
}

/** Errors that count against the target's health. */
const UNHEALTHY_KINDS = new Set(['unavailable', 'deadline_exceeded', 'internal']);
/** Errors with these reasons don't count, whatever their kind. */
const HEALTHY_REASONS = new Set<string>([REASONS.slowWork, REASONS.nodeUnavailable, REASONS.notOffered]);

/** Whether the caller stopped waiting before the deadline, which says nothing about the target's health. */
function isAbandoned({ signal, deadline = Infinity }: CallOptions = {}): boolean {
  return signal?.aborted === true && Date.now() < deadline;
}

/** Rejects calls while most of them fail, and lets a probe through every `resetTimeout`. */
function createBreaker(target: string) {
  return new CircuitBreaker((send: () => Promise<unknown>, _call: CallOptions) => send(), {
    name: target,
    timeout: false,
    errorThresholdPercentage: 50,
    volumeThreshold: 20,
    rollingCountTimeout: 5_000,
    rollingCountBuckets: 5,
    resetTimeout: 100,
    errorFilter: (error: unknown, _send?: unknown, call?: CallOptions) =>
      !(error instanceof ServiceError && UNHEALTHY_KINDS.has(error.kind)) ||
      HEALTHY_REASONS.has(error.reason) ||
      isAbandoned(call),
  });
}

/** Creates a client of a service, with deadlines, retries, a circuit breaker, balancing, reconnecting, traces, metrics and the error codec. */
export function client<D>(definition: D, options: ClientOptions): ServiceClient<D> {
  const { name, address, timeoutMs, retry, tls, serverName } = options;
  const credentials = channelCredentials(tls, serverName ?? splitHostPort(address).host);
  const channel = new Channel(`dns:///${address}`, credentials, { retry, serverName });
  const breaker = createBreaker(name);
  const duration = meter('kit').createHistogram('rpc.client.call.duration', {
    unit: 's',
    description: 'Time until a call got a response.',
  });
  const description = '1 while calls to the target are rejected immediately, 0.5 while a trial call is in progress.';
  const closeMetrics = observeGauge('kit', 'crs.breaker.open', { description }, (result) =>
    result.observe(breaker.opened ? 1 : breaker.halfOpen ? 0.5 : 0, { target: name }),
  );
  const spans = tracer('kit');

  const toFunction = (method: MethodDefinition<unknown, unknown>) => {
    const rpcName = method.path.slice(1);
    const attributes = { 'rpc.system.name': 'grpc', 'rpc.method': rpcName };
    const send = async (grpc: Client, request: unknown, { token, signal }: CallOptions, deadline: number): Promise<unknown> => {
      const span = spans.startSpan(rpcName, { kind: SpanKind.CLIENT, attributes });
      const started = performance.now();
      let outcome = 'ok';
      try {
        const metadata = metadataOf(span, typeof token === 'object' ? token[name] : token);
        return await unary(grpc, method, request, metadata, { deadline, signal, target: name });
      } catch (error) {
        outcome = error instanceof ServiceError ? error.kind : 'internal';
        failSpan(span, error);
        throw error;
      } finally {
        const seconds = (performance.now() - started) / 1000;
        duration.record(seconds, { ...attributes, 'rpc.response.status_code': outcome });
        addTimeSpent(name, seconds);
        span.end();
      }
    };
    return async (request: unknown, call: CallOptions = {}) => {
      call.signal?.throwIfAborted();
      // Even while the breaker is open: this lets the channel reconnect.
      const grpc = channel.client();
      const deadline = Math.min(Date.now() + timeoutMs, call.deadline ?? Infinity);
      try {
        return await breaker.fire(() => send(grpc, request, call, deadline), call);
      } catch (error) {
        const isOpen = error instanceof Error && 'code' in error && error.code === 'EOPENBREAKER';
        throw isOpen ? notAvailable(name, error) : error;
      }
    };
  };

  const methods = Object.entries(definition as ServiceDefinition);
  return {
    ...Object.fromEntries(methods.map(([method, target]) => [method, toFunction(target)])),
    close: () => {
      closeMetrics();
      breaker.shutdown();
      channel.close();
    },
  } as ServiceClient<D>;
}

function metadataOf(span: Span, token: string | undefined): Metadata {
  const metadata = new Metadata();
  propagation.inject(trace.setSpan(context.active(), span), metadata, {
    set: (carrier, key, value) => carrier.set(key, value),
  });
  if (token) metadata.set('authorization', `Bearer ${token}`);
  return metadata;
}

/** Makes one call. @throws ServiceError, or the signal's reason if it was aborted */
function unary(
  grpc: Client,
  { path, requestSerialize, responseDeserialize }: MethodDefinition<unknown, unknown>,
  request: unknown,
  metadata: Metadata,
  { deadline, signal, target }: { deadline: number; signal: AbortSignal | undefined; target: string },
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onResponse = (failure: GrpcFailure | null, response?: unknown) => {
      signal?.removeEventListener('abort', cancel);
      if (!failure) resolve(response);
      else reject(failure.code === status.CANCELLED && signal?.aborted ? signal.reason : decodeError(failure, target));
    };
    const pending = grpc.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      request,
      metadata,
      { deadline },
      onResponse,
    );
    const cancel = () => pending.cancel();
    signal?.addEventListener('abort', cancel, { once: true });
  });
}
