import type { ErrorCode } from '@crs/kit/http/refusal';
import { notAcceptable, unauthorized } from '../http/refusal.ts';
import { errorEnvelope } from '../schema/common.ts';
import { headersOf, type HeaderName } from './headers.ts';
import { refTo } from './json-schema.ts';
import type { RefusalExample, Route } from '../route.ts';

const REQUEST_ID = '4bf92f3577b34da6a3ce929d0e0e4736';

/** Refusals by status. `name` is the key in `components/responses`. */
type SharedRefusals = Record<number, RefusalExample & { name: string }>;

const EVERYWHERE: SharedRefusals = {
  406: {
    name: 'NotAcceptable',
    when: 'The `Accept` header excludes `application/json`.',
    message: notAcceptable().message,
  },
  429: {
    name: 'TooManyRequests',
    when: 'The rate limit is exceeded. Wait `Retry-After` seconds, that is, until `X-RateLimit-Reset`.',
    message: 'The rate limit of the organization is used up. Try again in 17 s.',
  },
  500: {
    name: 'InternalError',
    when: 'An unexpected error. Quote `request_id` when you report it.',
    message: 'An unexpected error occurred. Quote the request id when you report it.',
  },
};

/** Refusals of operations that need a key: only these call the services behind the gateway. */
const WITH_A_KEY: SharedRefusals = {
  401: {
    name: 'Unauthorized',
    when: 'The key is missing, unknown, expired or revoked.',
    message: unauthorized().message,
  },
  503: {
    name: 'Unavailable',
    when: 'A service that the API depends on is unavailable, or the organization has too many requests in progress. Retry after `Retry-After` seconds.',
    message: 'The service is not available right now. Try again shortly.',
  },
  504: {
    name: 'TimedOut',
    when: 'The request took too long. Retry after `Retry-After` seconds.',
    message: 'The request took too long. Try again shortly.',
  },
};

/** The content of `components/responses`. */
export const responseComponents = Object.fromEntries(
  Object.entries({ ...EVERYWHERE, ...WITH_A_KEY }).map(([status, refusal]) => [
    refusal.name,
    responseOf(Number(status), refusal),
  ]),
);

/** Returns the refusals of an operation by status: its own inline, and the shared ones by reference. */
export function refusalsOf({ refusals, access }: Route): Record<string, object> {
  const shared = Object.entries({ ...EVERYWHERE, ...(access && WITH_A_KEY) }).map(([status, { name }]) => [
    status,
    { $ref: `#/components/responses/${name}` },
  ]);
  const own = Object.entries(refusals).map(([status, refusal]) => [status, responseOf(Number(status), refusal)]);
  return Object.fromEntries([...shared, ...own]);
}

function responseOf(status: number, { when, message, details, retryAfter }: RefusalExample): object {
  const code = codeOf(status);
  return {
    description: `${when} Code \`${code}\`.`,
    headers: headersOf(headersOfStatus(status, retryAfter)),
    content: {
      'application/json': {
        schema: refTo(errorEnvelope),
        examples: {
          [code]: { summary: when, value: { error: { code, message, request_id: REQUEST_ID, ...(details && { details }) } } },
        },
      },
    },
  };
}

function codeOf(status: number): ErrorCode {
  if (status >= 500) return 'internal_error';
  if (status === 401) return 'unauthorized';
  if (status === 404) return 'not_found';
  return status === 429 ? 'rate_limited' : 'bad_request';
}

function headersOfStatus(status: number, retryAfter = [429, 503, 504].includes(status)): HeaderName[] {
  if (status === 401) return ['WWW-Authenticate'];
  return retryAfter ? ['Retry-After'] : [];
}
