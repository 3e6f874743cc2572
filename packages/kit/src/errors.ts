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

/** Distinguish errors within a kind: the `reason` of the `ErrorInfo` on the wire. */
export const REASONS = {
  invalidApiKey: 'INVALID_API_KEY',
  invalidAccessToken: 'INVALID_ACCESS_TOKEN',
  invalidOperator: 'INVALID_OPERATOR',
  /** The operator's role doesn't admit the call. */
  operatorRole: 'OPERATOR_ROLE',
  /** The operator is bound to other organizations. */
  operatorBound: 'OPERATOR_BOUND',
  userDeleted: 'USER_GONE',
  /** The caller is authenticated, but lacks a scope or a right that the call needs. */
  insufficientScope: 'INSUFFICIENT_SCOPE',
  /** The client certificate belongs to a program that may not make this call. */
  peerNotAdmitted: 'PEER_NOT_ADMITTED',
  /** No replica that was tried offers this call to the caller. During an upgrade, replicas of another version may. */
  notOffered: 'NOT_OFFERED',
  idempotencyKeyReused: 'IDEMPOTENCY_KEY_REUSED',
  idempotencyKeyInFlight: 'IDEMPOTENCY_KEY_IN_FLIGHT',
  /** A legal hold forbids the deletion or the change. */
  legalHold: 'LEGAL_HOLD',
  overloaded: 'OVERLOADED',
  /** The work was too slow, but the service is healthy. */
  slowWork: 'SLOW_WORK',
  /** One node of a distributed database is down, but the service and the coordinator are healthy. */
  nodeUnavailable: 'NODE_AWAY',
} as const;

export interface ErrorOptions {
  /** One of {@link REASONS}; by default the kind in upper case. */
  reason?: string | undefined;
  /** Dotted path of the offending field or parameter. */
  field?: string;
  retryAfterSeconds?: number;
  /** Only logged. */
  cause?: unknown;
}

/**
 * The error type of all services. `wire-errors.ts` encodes it for gRPC, and each gateway renders it in one place. `message` is public; text that must not
 * leave the process goes into `cause`, which is only logged. Any other thrown value is unexpected, and reaches callers as `internal`.
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

/** @param problem continues the sentence that starts with the field's name: `must be ...` */
export function invalid(field: string, problem: string): ServiceError {
  return new ServiceError('invalid_argument', `${field}: ${problem}`, { field });
}

export function notFound(message: string): ServiceError {
  return new ServiceError('not_found', message);
}

export function unavailable(message: string, cause?: unknown, reason?: string): ServiceError {
  return new ServiceError('unavailable', message, { reason, retryAfterSeconds: 1, cause });
}

export function deadlineExceeded(cause?: unknown, reason?: string): ServiceError {
  return new ServiceError('deadline_exceeded', 'The request took too long.', { reason, retryAfterSeconds: 1, cause });
}

/**
 * The error of a request that is shed so that others can be served. It isn't `unavailable`, which clients retry at once, tripling the load, and count against
 * the target's health. The retry time is random, so that clients that were refused together don't return together.
 */
export function overloaded(): ServiceError {
  const retryAfterSeconds = 1 + Math.floor(Math.random() * 3);
  return new ServiceError('resource_exhausted', 'Too many requests are under way.', {
    reason: REASONS.overloaded,
    retryAfterSeconds,
  });
}

/** Converts any thrown value. An unexpected one becomes an opaque `internal` with the value as its cause, for the log. */
export function toServiceError(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  return new ServiceError('internal', 'An unexpected error occurred.', { cause: thrown });
}
