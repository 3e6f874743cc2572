import { REASONS, ServiceError } from '@crs/kit/errors';
import { Refusal, toRefusal } from '@crs/kit/http/refusal';

export function unauthorized(cause?: unknown): Refusal {
  const message =
    'A valid API key is required: send "Authorization: Bearer <API_KEY>". The key is missing, unknown, expired or revoked.';
  return new Refusal(401, 'unauthorized', message, { 'WWW-Authenticate': 'Bearer' }, cause);
}

export function notAcceptable(type = 'application/json'): Refusal {
  return new Refusal(406, 'bad_request', `Answers are ${type}; the Accept header excludes that.`);
}

export function routeNotFound(): Refusal {
  return new Refusal(404, 'not_found', 'There is nothing at this path. The paths are listed in /v1/openapi.json.');
}

/** Any thrown value as the refusal that a REST client reads. */
export function toRestRefusal(thrown: unknown): Refusal {
  // Only a refused API key becomes 401. A refused caller token is our fault, and 401 would make the client rotate a good key.
  if (thrown instanceof ServiceError && thrown.reason === REASONS.invalidApiKey) return unauthorized(thrown);
  return toRefusal(thrown);
}
