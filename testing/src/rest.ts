/** A client of the REST API for tests. */
import { expect } from 'vitest';

export interface RestResponse {
  status: number;
  headers: Headers;
  text: string;
  /** The parsed body. Undefined if it isn't JSON. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests access any property
  json: any;
}

export interface RestRequest {
  key?: string | undefined;
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

export type Rest = (path: string, request?: RestRequest) => Promise<RestResponse>;

/** Returns a client of a gateway. It asserts that each response has the documented request id, limit headers and error envelope. */
export function restClient(origin: string, defaults: RestRequest = {}): Rest {
  return async (path, request = {}) => {
    const { key, method = 'GET', headers, body } = { ...defaults, ...request };
    const response = await fetch(`${origin}${path}`, {
      method,
      headers: { ...(key !== undefined && { authorization: `Bearer ${key}` }), ...headers },
      ...(body !== undefined && { body }),
      redirect: 'manual',
    });
    const text = await response.text();
    const json =
      response.headers.get('content-type')?.startsWith('application/json') && text !== '' ? JSON.parse(text) : undefined;
    const result = { status: response.status, headers: response.headers, text, json };
    expectCommonResponse(result, method);
    return result;
  };
}

/** Asserts what every response of the REST API must have. */
export function expectCommonResponse({ status, headers, json }: RestResponse, method = 'GET'): void {
  expect(headers.get('x-request-id'), 'X-Request-Id').toMatch(/^[0-9a-f]{32}$/);
  expect(headers.get('x-ratelimit-limit'), 'X-RateLimit-Limit').toMatch(/^[1-9]\d*$/);
  expect(headers.get('x-ratelimit-remaining'), 'X-RateLimit-Remaining').toMatch(/^\d+$/);
  expect(headers.get('x-ratelimit-reset'), 'X-RateLimit-Reset').toMatch(/^\d{10}$/);
  expect(headers.get('cache-control')).toBe('private, no-cache');
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  if (json !== undefined) {
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'");
  }
  if (status === 429 || status === 503 || status === 504) expect(headers.get('retry-after'), 'Retry-After').toMatch(/^[1-9]\d*$/);
  if (status >= 400 && method !== 'HEAD') {
    expect(Object.keys(json)).toEqual(['error']);
    const { details, ...error } = json.error as Record<string, unknown>;
    expect(Object.keys(error)).toEqual(['code', 'message', 'request_id']);
    if (details !== undefined) expect(status).toBe(400);
    expect(['bad_request', 'unauthorized', 'not_found', 'rate_limited', 'internal_error']).toContain(json.error.code);
    expect(json.error.request_id).toBe(headers.get('x-request-id'));
  }
}
