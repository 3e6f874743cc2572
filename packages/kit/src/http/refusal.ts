import { REASONS, ServiceError, toServiceError } from '../errors.ts';

/** The codes of the error envelope. A public, closed list. */
export type ErrorCode = 'bad_request' | 'unauthorized' | 'not_found' | 'rate_limited' | 'internal_error';

/** An error response to a client. All its properties but `cause` are public. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly code: ErrorCode;
  readonly headers: Record<string, string>;
  /** Further facts for programs, in the error envelope. */
  details: unknown[] | undefined;

  constructor(status: number, code: ErrorCode, message: string, headers: Record<string, string> = {}, cause?: unknown) {
    super(message, { cause });
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}

export function methodNotAllowed(allowed: string[]): Refusal {
  const allow = allowed.join(', ');
  return new Refusal(405, 'bad_request', `This path answers ${allow} only.`, { Allow: allow });
}

/** Converts any thrown value into a refusal. An unexpected error becomes an opaque 500, with the error as its cause for the log. */
export function toRefusal(thrown: unknown): Refusal {
  if (thrown instanceof Refusal) return thrown;
  const error = toServiceError(thrown);
  switch (error.kind) {
    case 'invalid_argument':
      return new Refusal(400, 'bad_request', error.message, {}, error);
    case 'unauthenticated':
      // A caller token that a service refuses is our bug, unless its user was deleted after the token was issued.
      return error.reason === REASONS.userDeleted ? new Refusal(401, 'unauthorized', error.message, {}, error) : internal(error);
    case 'not_found':
      return new Refusal(404, 'not_found', error.message, {}, error);
    case 'failed_precondition':
      if (error.reason === REASONS.idempotencyKeyReused) return new Refusal(422, 'bad_request', error.message, {}, error);
      if (error.reason === REASONS.legalHold) return new Refusal(409, 'bad_request', error.message, {}, error);
      return internal(error);
    case 'aborted':
    case 'unavailable':
      if (error.reason === REASONS.idempotencyKeyInFlight)
        return new Refusal(409, 'bad_request', error.message, retryAfter(error), error);
      return new Refusal(
        503,
        'internal_error',
        'The service is not available right now. Try again shortly.',
        retryAfter(error),
        error,
      );
    case 'resource_exhausted':
      return new Refusal(
        503,
        'internal_error',
        'Too many requests are under way. Try again shortly, with fewer at a time.',
        retryAfter(error),
        error,
      );
    case 'deadline_exceeded':
      return new Refusal(504, 'internal_error', 'The request took too long. Try again shortly.', retryAfter(error), error);
    default:
      return internal(error);
  }
}

function internal(cause: ServiceError): Refusal {
  return new Refusal(500, 'internal_error', 'An unexpected error occurred. Quote the request id when you report it.', {}, cause);
}

function retryAfter(error: ServiceError): Record<string, string> {
  return { 'Retry-After': String(error.retryAfterSeconds ?? 1) };
}

/** Returns the media type and the body of a refusal as an error envelope in JSON. */
export function renderEnvelope({ code, message, details }: Refusal, requestId: string): [type: string, body: string] {
  return ['application/json', JSON.stringify({ error: { code, message, request_id: requestId, details } })];
}
