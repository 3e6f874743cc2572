import {
  Server,
  ServerCredentials,
  type Metadata,
  type sendUnaryData,
  type ServerUnaryCall,
  type ServiceDefinition,
  type UntypedHandleCall,
} from '@grpc/grpc-js';
import { context, propagation, ROOT_CONTEXT, trace, type Span, type TextMapGetter } from '@opentelemetry/api';
import { deadlineExceeded, ServiceError, toServiceError } from '../errors.ts';
import { bindGrpc } from '../process/bind.ts';
import { addHealth, type Dependencies } from '../process/health.ts';
import type { Logger } from '../process/log.ts';
import { failSpan, meter, SpanKind, tracer } from '../process/telemetry.ts';
import type { Program } from '../process/peers.ts';
import type { Tls } from '../process/tls.ts';
import { admit, type AdmittedCallers } from './admitted-callers.ts';
import type { Identity, IdentityKind, Verifier } from './identity.ts';
import { operatorInterceptor, type Interceptor } from './operator-interceptor.ts';
import type { Access, OperatorDirectory, OperatorRights, IncomingCall } from './operators.ts';
import { createPeerCheck, type PeerCheck } from './peer-check.ts';
import { encodeError } from './wire-errors.ts';

/** What a handler gets besides the request. Pass it to clients and the database to propagate the caller, the deadline and cancellation. */
export interface CallContext<K extends CallerKind = CallerKind> extends IncomingCall {
  identity: K extends IdentityKind ? Extract<Identity, { kind: K }> : undefined;
  /** The rights of an operator. */
  rights: K extends 'operator' ? OperatorRights : undefined;
  log: Logger;
}

type CallerKind = IdentityKind | 'anyone';

export interface Rpc<Request, Response> {
  callers: AdmittedCallers;
  handle(request: Request, call: CallContext): Promise<Response>;
}

/** Defines an RPC: the callers that it admits, with the rights that they need, and its handler. Calls of operators that fail are audited. */
export function rpc<const A extends AdmittedCallers, Request, Response>(
  callers: A,
  handle: (request: Request, call: CallContext<Extract<keyof A, CallerKind>>) => Promise<Response>,
): Rpc<Request, Response> {
  return { callers, handle: handle as unknown as Rpc<Request, Response>['handle'] };
}

type RequestOf<M> = M extends { requestDeserialize: (bytes: Buffer) => infer R } ? R : never;
type ResponseOf<M> = M extends { responseSerialize: (value: infer R) => Buffer } ? R : never;

export type Rpcs<D> = { [M in keyof D]: Rpc<RequestOf<D[M]>, ResponseOf<D[M]>> };

/** The programs that may call each method: one list for all methods, or one for each. */
export type From<D> = readonly Program[] | { [M in keyof D]: readonly Program[] };

export interface BoundService {
  definition: ServiceDefinition;
  /** The programs that may call a method. Enforced only if client certificates name programs. */
  from: (method: string) => readonly Program[];
  rpcs: Record<string, Rpc<unknown, unknown>>;
}

export function bind<D>(definition: D, from: From<D>, rpcs: Rpcs<D>): BoundService {
  return {
    definition: definition as ServiceDefinition,
    from: (method) => ('length' in from ? from : from[method as keyof D]),
    rpcs,
  };
}

export interface ServeOptions {
  /** The service's name in logs and metrics. */
  name: string;
  /** `host:port`; port 0 takes a free one. */
  address: string;
  services: BoundService[];
  verify: Verifier;
  /** Required if an RPC admits operators. */
  operators?: OperatorDirectory;
  log: Logger;
  maxMessageBytes?: number;
  /** `Health.Check` reports them by name. */
  dependencies?: Dependencies;
  /** Absent: plaintext. */
  tls?: Tls | undefined;
}

/** Subtracted from the caller's deadline, so that the callee reports a timeout before the caller gives up. */
const MARGIN_MS = 20;
const DEFAULT_TIMEOUT_MS = 5_000;
/** How long calls in flight may take when the server stops: slightly more than the longest deadline of a request, 30 s. */
export const FINISH_MS = 31_000;

/** Serves gRPC, with health, deadlines, caller identity, traces, metrics, the error codec and a graceful stop. */
export async function serve(options: ServeOptions): Promise<{ address: string; stop: () => Promise<void> }> {
  const server = new Server({
    'grpc.max_receive_message_length': options.maxMessageBytes ?? 4 * 1024 * 1024,
    'grpc.max_send_message_length': -1,
    // Without a maximum age, an HTTP/2 connection would pin a client to one pod.
    'grpc.max_connection_age_ms': 300_000,
    'grpc.max_connection_age_grace_ms': 30_000,
    'grpc.keepalive_time_ms': 30_000,
  });
  const health = addHealth(server, { '': 'NOT_SERVING' }, options.dependencies);
  const check = createPeerCheck(options);
  for (const { definition, from, rpcs } of options.services) {
    const implementation: Record<string, UntypedHandleCall> = {};
    for (const [name, target] of Object.entries(rpcs)) {
      implementation[name] = implement(target, definition[name]!.path.slice(1), from(name), check, options);
    }
    server.addService(definition, implementation);
  }
  const credentials = options.tls?.serverCredentials() ?? ServerCredentials.createInsecure();
  const address = await bindGrpc(server, options.address, credentials);
  health.setStatus('', 'SERVING');
  return {
    address,
    stop: () =>
      new Promise((resolve) => {
        health.setStatus('', 'NOT_SERVING');
        const force = setTimeout(() => server.forceShutdown(), FINISH_MS);
        server.tryShutdown(() => {
          clearTimeout(force);
          resolve();
        });
      }),
  };
}

/** Wraps an {@link Rpc} as a handler of grpc-js. No other code turns thrown values into gRPC errors. */
function implement(
  target: Rpc<unknown, unknown>,
  method: string,
  from: readonly Program[],
  check: PeerCheck,
  options: ServeOptions,
): UntypedHandleCall {
  const { name, log } = options;
  const { callers } = target;
  const intercept = admitsOperators(callers) ? operatorInterceptor(callers, options) : callerInterceptor(callers, options.verify);
  const spans = tracer(name);
  const duration = meter(name).createHistogram('rpc.server.call.duration', { unit: 's', description: 'Time to handle a call.' });
  const attributes = { 'rpc.system.name': 'grpc', 'rpc.method': method };

  const respond = async (
    call: ServerUnaryCall<unknown, unknown>,
    callback: sendUnaryData<unknown>,
    span: Span,
  ): Promise<void> => {
    const started = performance.now();
    let response: unknown;
    let error: ServiceError | undefined;
    try {
      check(call, method, from);
      response = await withinDeadline(call, (unverified) =>
        intercept(unverified, (identity, rights) => {
          unverified.signal.throwIfAborted();
          return target.handle(call.request, { ...unverified, identity, rights, log });
        }),
      );
    } catch (thrown) {
      error = toServiceError(thrown);
      failSpan(span, error);
      if (error.kind === 'internal') log.error({ err: error, rpc: method }, 'call failed');
    }
    duration.record((performance.now() - started) / 1000, { ...attributes, 'rpc.response.status_code': error?.kind ?? 'ok' });
    span.end();
    if (error) callback(encodeError(retryConflictAsUnavailable(error, call.metadata)));
    else callback(null, response);
  };

  return (call: ServerUnaryCall<unknown, unknown>, callback: sendUnaryData<unknown>) => {
    const remote = propagation.extract(ROOT_CONTEXT, call.metadata, METADATA_GETTER);
    const span = spans.startSpan(method, { kind: SpanKind.SERVER, attributes }, remote);
    void context.with(trace.setSpan(remote, span), respond, undefined, call, callback, span);
  };
}

const METADATA_GETTER: TextMapGetter<Metadata> = {
  keys: (metadata) => Object.keys(metadata.getMap()),
  get: (metadata, key) => metadata.get(key)[0]?.toString(),
};

/** Rejects with deadline_exceeded, and aborts the call's signal, at the deadline or when the caller cancels. */
async function withinDeadline(
  call: ServerUnaryCall<unknown, unknown>,
  work: (call: IncomingCall) => Promise<unknown>,
): Promise<unknown> {
  const requested = Number(call.getDeadline());
  const deadline = (Number.isFinite(requested) ? requested : Date.now() + DEFAULT_TIMEOUT_MS) - MARGIN_MS;
  if (deadline <= Date.now()) throw deadlineExceeded();
  const controller = new AbortController();
  const stopped = Promise.withResolvers<never>();
  const stop = () => {
    const error = deadlineExceeded();
    controller.abort(error);
    stopped.reject(error);
  };
  const timer = setTimeout(stop, deadline - Date.now());
  call.once('cancelled', stop);
  const token = call.metadata.get('authorization')[0]?.toString();
  try {
    const handled = work({
      token: token?.replace(/^Bearer /, ''),
      deadline,
      signal: controller.signal,
      address: addressOf(call),
    });
    return await Promise.race([handled, stopped.promise]);
  } finally {
    clearTimeout(timer);
    call.off('cancelled', stop);
  }
}

/** A retry may conflict with its own earlier attempt. It then reports `unavailable`, not `aborted`: the caller made one call, and may repeat it. */
function retryConflictAsUnavailable(error: ServiceError, metadata: Metadata): ServiceError {
  const isRetry = metadata.get('grpc-previous-rpc-attempts').length > 0;
  if (error.kind !== 'aborted' || !isRetry) return error;
  const retryAfterSeconds = error.retryAfterSeconds ?? 1;
  return new ServiceError('unavailable', 'The call was interrupted.', { retryAfterSeconds, cause: error });
}

/** The IP address of the peer; empty if it has none. A listener on `::` sees IPv4 peers as `::ffff:10.0.0.1`. */
function addressOf(call: ServerUnaryCall<unknown, unknown>): string {
  const peer = call.getPeer();
  const address = peer.slice(0, Math.max(0, peer.lastIndexOf(':'))).replace(/^\[|\]$/g, '');
  return address.replace(/^::ffff:(?=\d+\.)/, '');
}

function admitsOperators(callers: AdmittedCallers): callers is AdmittedCallers & { operator: Access } {
  return 'operator' in callers;
}

function callerInterceptor(callers: AdmittedCallers, verify: Verifier): Interceptor {
  return async ({ token }, handle) => handle(await admit(callers, token, verify), undefined);
}
