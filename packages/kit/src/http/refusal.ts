import { REASONS, ServiceError, toServiceError } from '../errors.ts';

/** The closed list of codes of an error envelope. */
export type ErrorCode = 'bad_request' | 'unauthorized' | 'not_found' | 'rate_limited' | 'internal_error';

/** Why a request isn't served, as the client reads it. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly code: ErrorCode;
  readonly headers: Record<string, string>;

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

/** Any thrown value as a refusal. An error that isn't the client's business becomes an opaque 500 and keeps its cause for the log. */
export function toRefusal(thrown: unknown): Refusal {
  if (thrown instanceof Refusal) return thrown;
  const error = toServiceError(thrown);
  switch (error.kind) {
    case 'invalid_argument':
      return new Refusal(400, 'bad_request', error.message, {}, error);
    case 'unauthenticated':
      // A caller token that a service refuses is our fault, unless its user was deleted after it was made.
      return error.reason === REASONS.userGone ? new Refusal(401, 'unauthorized', error.message, {}, error) : internal(error);
    case 'not_found':
      return new Refusal(404, 'not_found', error.message, {}, error);
    case 'failed_precondition':
      return error.reason === REASONS.idempotencyKeyReused
        ? new Refusal(422, 'bad_request', error.message, {}, error)
        : internal(error);
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

/** The media type and the body of the answer to a refused request: by default, the error envelope as JSON. */
export function renderEnvelope({ code, message }: Refusal, requestId: string): [type: string, body: string] {
  return ['application/json', JSON.stringify({ error: { code, message, request_id: requestId } })];
}
