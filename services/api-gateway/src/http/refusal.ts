import { Refusal } from '@crs/kit/http/refusal';

const NO_VALID_KEY =
  'A valid API key is required: send "Authorization: Bearer <API_KEY>". The key is missing, unknown, expired or revoked.';

export function unauthorized(cause?: unknown, message = NO_VALID_KEY): Refusal {
  return new Refusal(401, 'unauthorized', message, { 'WWW-Authenticate': 'Bearer' }, cause);
}

export function notAcceptable(type = 'application/json'): Refusal {
  return new Refusal(406, 'bad_request', `Answers are ${type}; the Accept header excludes that.`);
}

export function routeNotFound(): Refusal {
  return new Refusal(404, 'not_found', 'There is nothing at this path. The paths are listed in /v1/openapi.json.');
}
