/**
 * The one error vocabulary. Code that knows a fact throws a {@link ServiceError}; `grpc-errors` carries it over the wire, and each
 * edge renders it once. `message` is public text; whatever must not leave the process goes into `cause`, which is only logged.
 * Anything else that is thrown is an unexpected error: callers see `internal`, the log sees the rest.
 */
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

export interface ErrorOptions {
  /** Upper snake case, for programs; by default the kind. */
  reason?: string;
  /** Dotted path of the offending field or parameter. */
  field?: string;
  /** When it makes sense to try again. */
  retryAfterSeconds?: number;
  /** For the log only. */
  cause?: unknown;
}

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

/** A field or parameter that can't be used; `problem` reads on from its name: `must be ...`. */
export function invalid(field: string, problem: string): ServiceError {
  return new ServiceError('invalid_argument', `${field}: ${problem}`, { field });
}

export function notFound(message: string): ServiceError {
  return new ServiceError('not_found', message);
}

/** A dependency that doesn't answer. */
export function unavailable(message: string, cause?: unknown): ServiceError {
  return new ServiceError('unavailable', message, { retryAfterSeconds: 1, cause });
}

/** Reason of a deadline that passed on work which is slow by itself, while what does it is well. */
export const SLOW_WORK = 'SLOW_WORK';

export function deadlineExceeded(cause?: unknown, reason = 'DEADLINE_EXCEEDED'): ServiceError {
  return new ServiceError('deadline_exceeded', 'The request took too long.', { reason, retryAfterSeconds: 1, cause });
}

/**
 * What is refused so that the rest is served. Not `unavailable`: clients would ask again at once, three times the load, and count it
 * against the health of a target that is well for everybody else. Those who are refused together are asked to come back apart.
 */
export function overloaded(): ServiceError {
  const retryAfterSeconds = 1 + Math.floor(Math.random() * 3);
  return new ServiceError('resource_exhausted', 'Too many requests are under way.', { reason: 'OVERLOADED', retryAfterSeconds });
}

/** Any thrown value as a {@link ServiceError}: unexpected ones become opaque and keep their cause for the log. */
export function toServiceError(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  return new ServiceError('internal', 'An unexpected error occurred.', { cause: thrown });
}
