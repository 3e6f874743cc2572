// Sends requests to a tool gateway as MCP clients of both protocol generations do, and starts further gateways.
import { request, type IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect } from 'vitest';
import { createLogger } from '@crs/kit/process/log';
import { parseSecrets } from '@crs/kit/process/secrets';
import type { World } from '@crs/testing/world';
import type { ToolGatewayConfig } from '../src/config.ts';
import { createToolGateway } from '../src/service.ts';

export const LEGACY = '2025-11-25';
export const MODERN = '2026-07-28';
const META = 'io.modelcontextprotocol';

export interface Ask {
  method?: string;
  path?: string;
  /** An undefined header is not sent. */
  headers?: Record<string, string | undefined>;
  body?: unknown;
}

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read arbitrary properties of responses
  json: any;
}

/** Sends a request exactly as given, which `fetch` would not, and checks what holds for every response, such as its request id. */
export async function ask(address: string, { method = 'POST', path = '/mcp', headers = {}, body }: Ask): Promise<Answer> {
  const [host, port] = address.split(':');
  const given = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
  const bytes = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
  // Without this, Node would send the body of a GET without Content-Length.
  if (bytes !== undefined && !('transfer-encoding' in given)) given['content-length'] ??= String(Buffer.byteLength(bytes));
  const answer = await new Promise<Omit<Answer, 'json'>>((resolve, reject) => {
    const sent = request({ host, port, method, path, headers: given, agent: false }, (response) => {
      // The server may close the connection before it has read the whole body.
      sent.on('error', () => {});
      text(response).then((read) => resolve({ status: response.statusCode!, headers: response.headers, text: read }), reject);
    });
    sent.on('error', reject);
    sent.end(bytes);
  });
  expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f]{32}$/);
  expect(Object.keys(answer.headers).filter((name) => name.startsWith('x-ratelimit'))).toEqual([]);
  const isJson = answer.headers['content-type']?.startsWith('application/json') === true;
  const json = isJson && answer.text !== '' ? JSON.parse(answer.text) : undefined;
  expect(answer.headers['x-content-type-options']).toBe('nosniff');
  if (isJson) expect(answer.headers['content-security-policy']).toBe("default-src 'none'; frame-ancestors 'none'");
  if (json?.error?.request_id !== undefined) expect(json.error.request_id).toBe(answer.headers['x-request-id']);
  return { ...answer, json };
}

export const message = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 7, method, params });
export const toolCall = (name: string, args: unknown = {}) => message('tools/call', { name, arguments: args });

/** The headers and the body that a client of that protocol version sends for the message. */
export function spoken(version: string, content: ReturnType<typeof message>, authorization?: string) {
  const headers: Record<string, string | undefined> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': version,
    authorization,
  };
  if (version === LEGACY) return { headers, body: content };
  const { name } = content.params as { name?: string };
  const _meta = {
    [`${META}/protocolVersion`]: version,
    [`${META}/clientCapabilities`]: {},
    [`${META}/clientInfo`]: { name: 'test', version: '1' },
  };
  return {
    headers: { ...headers, 'mcp-method': content.method, 'mcp-name': name },
    body: { ...content, params: { ...content.params, _meta } },
  };
}

/** The error in a tool's result. */
export function errorOf({ json }: Answer): { code: string; message: string; request_id: string } {
  expect(json.result).toMatchObject({ isError: true });
  expect(json.result.structuredContent).toBeUndefined();
  return JSON.parse(json.result.content[0].text).error;
}

/** Issues an access token. @returns the value for the Authorization header */
export async function bearer(world: World, organization: string, email: string, scopes: string[] = []): Promise<string> {
  const request = { email, scopes, expiresInSeconds: 0 };
  const { accessToken } = await world.operator.auth.createToken(request, await world.operator.operator(organization));
  return `Bearer ${accessToken}`;
}

let addresses = 0;

/** A client address that no other test of this worker uses. All gateways share the counters, so a reused address could be over its limit. */
export function newAddress(): string {
  addresses++;
  return `10.1.${addresses >> 8}.${addresses & 255}`;
}

type Environment = Pick<World, 'log'> & { stack: Pick<World['stack'], 'addresses'> };

/** Starts a further tool gateway of the test environment, with these settings. It appends its log to `log`. */
export async function startGateway({ stack, log }: Environment, settings: Partial<ToolGatewayConfig>) {
  const { auth, calls, projects, entities, rateLimit } = stack.addresses;
  const service = createToolGateway(
    {
      listen: '127.0.0.1:0',
      publicUrl: 'http://tools.example',
      authAddress: auth,
      callsAddress: calls,
      projectsAddress: projects,
      entitiesAddress: entities,
      rateLimitAddress: rateLimit,
      trustedProxies: [],
      drainMs: 0,
      addressLimit: { requests: 1_000_000, periodSeconds: 60 },
      signInLimit: { requests: 1_000_000, periodSeconds: 60 },
      concurrency: 8,
      tenantConcurrency: 32,
      tenantMetrics: false,
      timeoutMs: 5_000,
      secrets: parseSecrets('another-secret-that-is-long-enough-0123456789'),
      allowedOrigins: [],
      loopback: true,
      ...settings,
    },
    { log: createLogger('tool-gateway', { level: 'debug', destination: { write: (line) => void log.push(line) } }) },
  );
  const { http: address } = await service.start();
  return { address, stop: () => service.stop() };
}
