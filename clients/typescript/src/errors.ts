import type { LineError } from './types.ts';

/** The codes of the API. */
export type ErrorCode = 'bad_request' | 'unauthorized' | 'not_found' | 'rate_limited' | 'internal_error';

export interface ErrorDetails {
  code?: ErrorCode | null;
  status?: number | null;
  requestIds?: readonly string[];
  details?: readonly LineError[];
  retryAfter?: number | undefined;
  cause?: unknown;
}

/** The base class of all errors of this package. Log `requestIds`: the operator of the service finds the requests in its log by them. */
export class CallResearchError extends Error {
  override readonly name: string = 'CallResearchError';
  /** Null without a response, or if the response isn't the API's. */
  readonly code: ErrorCode | null;
  /** The HTTP status of the last attempt; null without a response. */
  readonly status: number | null;
  /** The request id of each attempt that got a response, oldest first. */
  readonly requestIds: readonly string[];
  /** The number of seconds after which the service says to try again; null if it doesn't say. */
  readonly retryAfter: number | null;
  /** What is wrong with which record, after `records` with `onRefusal: 'abort'`. */
  readonly details: readonly LineError[];

  constructor(message: string, { code, status, requestIds = [], details = [], retryAfter, cause }: ErrorDetails = {}) {
    super(message, { cause });
    this.code = code ?? null;
    this.status = status ?? null;
    this.requestIds = requestIds;
    this.details = details;
    this.retryAfter = retryAfter ?? null;
  }
}

/** The request is wrong; the message names what. Status 400, 405, 406, 408, 409, 413, 415 or 422. */
export class BadRequestError extends CallResearchError {
  override readonly name = 'BadRequestError';
}

/** The key is missing, unknown, expired or revoked. */
export class UnauthorizedError extends CallResearchError {
  override readonly name = 'UnauthorizedError';
}

/** The resource doesn't exist, or the organization or key may not use it. */
export class NotFoundError extends CallResearchError {
  override readonly name = 'NotFoundError';
}

/** The rate limit is used up, and waiting longer isn't allowed by `maxRetries`, by `budget` or by the cap of 120 s. */
export class RateLimitedError extends CallResearchError {
  override readonly name = 'RateLimitedError';
}

/** The service failed, even after the last attempt. */
export class ServerError extends CallResearchError {
  override readonly name = 'ServerError';
}

/** The last attempt got no complete response: the connection was refused or cut, or `timeout` has passed. */
export class ConnectionError extends CallResearchError {
  override readonly name = 'ConnectionError';
}

/** An response violates the API's contract, or another program is changing the same copy. The copy is unchanged. */
export class ProtocolError extends CallResearchError {
  override readonly name = 'ProtocolError';
}

const CLASSES = {
  bad_request: BadRequestError,
  unauthorized: UnauthorizedError,
  not_found: NotFoundError,
  rate_limited: RateLimitedError,
  internal_error: ServerError,
};

/** Returns the error for an unsuccessful status. The response of a proxy in between may lack the API's error body. */
export function errorOf(status: number, body: string, requestIds: string[], retryAfter: number | undefined): CallResearchError {
  const envelope = readEnvelope(body);
  const { code = codeOf(status), message = `the response has status ${status} and no error body`, details = [] } = envelope;
  const Class = CLASSES[code];
  return new Class(message, { code, status, requestIds, details, retryAfter });
}

interface Envelope {
  code?: ErrorCode;
  message?: string;
  details?: LineError[];
}

function readEnvelope(body: string): Envelope {
  try {
    const { code, ...rest } = (JSON.parse(body) as { error: Omit<Envelope, 'code'> & { code: string } }).error;
    return Object.hasOwn(CLASSES, code) ? { ...rest, code: code as ErrorCode } : rest;
  } catch {
    return {};
  }
}

function codeOf(status: number): ErrorCode {
  if (status >= 500) return 'internal_error';
  return ({ 401: 'unauthorized', 404: 'not_found', 429: 'rate_limited' } as const)[status] ?? 'bad_request';
}
