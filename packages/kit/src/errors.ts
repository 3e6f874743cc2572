/** The kind of an error: one of the canonical statuses of gRPC. */
export type ErrorKind =
  | 'invalid_argument'
  | 'unauthenticated'
  | 'permission_denied'
  | 'not_found'
  | 'already_exists'
  | 'failed_precondition'
  | 'aborted'
  | 'resource_exhausted'
  | 'unavailable'
  | 'deadline_exceeded'
  | 'internal';

/** Facts that programs distinguish within a kind: the `reason` of an error's `ErrorInfo` on the wire. */
export const REASONS = {
  invalidApiKey: 'INVALID_API_KEY',
  invalidAccessToken: 'INVALID_ACCESS_TOKEN',
  invalidOperator: 'INVALID_OPERATOR',
  /** The operator's role doesn't admit the call. */
  operatorRole: 'OPERATOR_ROLE',
  /** The operator is bound to other organizations. */
  operatorBound: 'OPERATOR_BOUND',
  userGone: 'USER_GONE',
  /** The caller is known, and lacks a scope or a right of its key that the call needs. */
  insufficientScope: 'INSUFFICIENT_SCOPE',
  /** The certificate of the connection is of a program that may not make this call. */
  peerNotAdmitted: 'PEER_NOT_ADMITTED',
  /** No replica that was asked has this call, or none admits the caller to it. During an upgrade, some replicas are of another version. */
  notOffered: 'NOT_OFFERED',
  idempotencyKeyReused: 'IDEMPOTENCY_KEY_REUSED',
  idempotencyKeyInFlight: 'IDEMPOTENCY_KEY_IN_FLIGHT',
  overloaded: 'OVERLOADED',
  /** The work itself was too slow; the service that did it is healthy. */
  slowWork: 'SLOW_WORK',
  /** A node that holds a part of the rows is away; the service and its database are healthy. */
  nodeAway: 'NODE_AWAY',
} as const;

export interface ErrorOptions {
  /** One of {@link REASONS}; by default the kind in upper case. */
  reason?: string | undefined;
  /** Dotted path of the offending field or parameter. */
  field?: string;
  /** After how many seconds the caller may try again. */
  retryAfterSeconds?: number;
  /** For the log only. */
  cause?: unknown;
}

/**
 * The one error vocabulary. Services throw it, `wire-errors` carries it over gRPC, and each gateway renders it once. `message` is public
 * text. Text that must not leave the process goes into `cause`, which is only logged. Any other thrown value is unexpected: callers see
 * `internal`, and the log sees the value.
 */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly kind: ErrorKind;
  readonly reason: string;
  readonly field: string | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(kind: ErrorKind, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = kind;
    this.reason = options.reason ?? kind.toUpperCase();
    this.field = options.field;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/** The error of a field or parameter that can't be used. `problem` continues the sentence after its name: `must be ...`. */
export function invalid(field: string, problem: string): ServiceError {
  return new ServiceError('invalid_argument', `${field}: ${problem}`, { field });
}

export function notFound(message: string): ServiceError {
  return new ServiceError('not_found', message);
}

/** The error of a dependency that doesn't answer. */
export function unavailable(message: string, cause?: unknown, reason?: string): ServiceError {
  return new ServiceError('unavailable', message, { reason, retryAfterSeconds: 1, cause });
}

export function deadlineExceeded(cause?: unknown, reason?: string): ServiceError {
  return new ServiceError('deadline_exceeded', 'The request took too long.', { reason, retryAfterSeconds: 1, cause });
}

/**
 * The error of a request that is refused so that other requests are served. It isn't `unavailable`: clients would repeat the request at
 * once, which triples the load, and would count it against the health of a target that is healthy for everybody else. The time to try
 * again is random, so that clients which are refused together come back apart.
 */
export function overloaded(): ServiceError {
  const retryAfterSeconds = 1 + Math.floor(Math.random() * 3);
  return new ServiceError('resource_exhausted', 'Too many requests are under way.', {
    reason: REASONS.overloaded,
    retryAfterSeconds,
  });
}

/** Any thrown value as a {@link ServiceError}. An unexpected value becomes an opaque `internal` and stays its cause, for the log. */
export function toServiceError(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  return new ServiceError('internal', 'An unexpected error occurred.', { cause: thrown });
}
