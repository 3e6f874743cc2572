/** The response headers that the document describes. */
const HEADERS = {
  'X-Request-Id': {
    description: 'Identifies the request; log it. The same as `error.request_id`.',
    schema: { type: 'string', pattern: '^[0-9a-f]{32}$' },
    example: '4bf92f3577b34da6a3ce929d0e0e4736',
  },
  'X-RateLimit-Limit': {
    description:
      "The number of requests allowed per window: for the organization or, without a valid key, for the client's address.",
    schema: { type: 'integer', minimum: 1 },
    example: 600,
  },
  'X-RateLimit-Remaining': {
    description: 'The number of requests left in this window.',
    schema: { type: 'integer', minimum: 0 },
    example: 597,
  },
  'X-RateLimit-Reset': {
    description: 'When the window ends, in Unix time (seconds), rounded up. A client that waits until then is admitted.',
    schema: { type: 'integer', minimum: 0 },
    example: 1773325860,
  },
  'Cache-Control': {
    description: 'Only your own cache may store the response, and must revalidate it (with `If-None-Match`) before each use.',
    schema: { type: 'string' },
    example: 'private, no-cache',
  },
  ETag: {
    description: 'Identifies the body. Send it as `If-None-Match` to find out whether the body has changed.',
    schema: { type: 'string', pattern: '^"[\\w-]+"$' },
    example: '"3q2-7wWnV0k9eXyFqg4mT1s8uYdLhPzC5rJbAoKiNfE"',
  },
  'Retry-After': {
    description: 'Seconds to wait before retrying.',
    schema: { type: 'integer', minimum: 1 },
    example: 17,
  },
  'WWW-Authenticate': {
    description: 'The kind of credential to send.',
    schema: { type: 'string' },
    example: 'Bearer',
  },
  Location: {
    description: 'Path of the new project or call.',
    schema: { type: 'string', format: 'uri-reference' },
    example: '/v1/projects/6f1d3c52-8a0e-4b57-9d1c-2e7f40a9b813',
  },
  'Idempotent-Replayed': {
    description: '`true` if an earlier request with the same `Idempotency-Key` created the project. Otherwise absent.',
    schema: { type: 'string', const: 'true' },
    example: 'true',
  },
} as const;

export type HeaderName = keyof typeof HEADERS;

/** Headers of every response, whatever its status. */
const COMMON_HEADERS: readonly HeaderName[] = [
  'X-Request-Id',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'Cache-Control',
];

/** The content of `components/headers`. Every header listed for a response is always sent, except `Idempotent-Replayed`. */
export const headerComponents = Object.fromEntries(
  Object.entries(HEADERS).map(([name, header]) => [name, { ...header, required: name !== 'Idempotent-Replayed' }]),
);

/** Returns references to the common headers and to further ones. */
export function headersOf(more: readonly HeaderName[] = []): Record<string, { $ref: string }> {
  return Object.fromEntries([...COMMON_HEADERS, ...more].map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
