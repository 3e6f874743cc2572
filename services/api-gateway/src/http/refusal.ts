import { Refusal } from '@crs/kit/http/refusal';

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
