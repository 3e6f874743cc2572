import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { json, text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTelemetry, type Telemetry } from '@crs/kit/process/telemetry-sdk';
import { logProblems } from '@crs/testing/log-schema';
import { sendRaw } from '@crs/testing/send-raw';
import { OPERATOR_CREDENTIAL, SECRET } from '@crs/testing/setup';
import { startWorld, type OwnWorld } from '@crs/testing/world';

interface Span {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  links?: { traceId: string }[];
  attributes: { key: string; value: Record<string, unknown> }[];
}

/** Values that no log line, span or metric may contain. */
const CANARY = {
  transcript: 'canary-transcript-word',
  name: 'Canaria Interviewee',
  email: 'canary@acme.example',
  password: 'canary-password-1234',
  summary: 'canary-summary-word',
  note: 'canary-note-word',
  query: 'canary-query-word',
  badLine: 'canary-bad-line-word',
};

let world: OwnWorld;
let telemetry: Telemetry;
let receiver: Server;
let key: string;
const received: string[] = [];
const pushed: string[] = [];
const spans: Span[] = [];
let traceId: string;
let metrics: string;

/** A real OTLP receiver. */
async function startReceiver(): Promise<string> {
  receiver = createServer((request, response) => {
    if (request.url === '/v1/metrics')
      return void text(request).then((body) => {
        pushed.push(body);
        response.end();
      });
    void json(request).then((body) => {
      received.push(JSON.stringify(body));
      const { resourceSpans = [] } = body as { resourceSpans?: { scopeSpans: { spans: Span[] }[] }[] };
      spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)));
      response.setHeader('content-type', 'application/json').end('{}');
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(receiver.address() as { port: number }).port}`;
}

/** Uses every feature once, with a canary in each value that must stay out of telemetry. */
beforeAll(async () => {
  Object.assign(process.env, {
    OTEL_EXPORTER_OTLP_ENDPOINT: await startReceiver(),
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_METRICS_EXPORTER: 'otlp',
  });
  telemetry = startTelemetry('call-research', process.env);
  world = await startWorld();
  await world.load(
    ['acme', 'globex'].flatMap((organization) => [
      { type: 'organization', id: organization, name: organization, anonymize_interviewees: true },
      { type: 'user', organization, email: CANARY.email, name: 'Ann', password: CANARY.password },
      {
        type: 'call',
        organization,
        id: 'call_1',
        conducted_by: CANARY.email,
        created_at: '2025-02-01T00:00:00Z',
        expert: { name: CANARY.name },
        summary: CANARY.summary,
        notes: [{ email: CANARY.email, text: CANARY.note }],
        transcript: [{ speaker: CANARY.name, text: CANARY.transcript }],
      },
    ]),
  );
  await world.tryLoad([
    { type: 'call', organization: 'acme', id: 'call_2', rating: CANARY.badLine },
    { type: 'call', organization: 'acme', id: 'call_2', [CANARY.badLine]: 1 },
    `{"type":"call","organization":"acme","id":"call_2","summary":"${CANARY.badLine}`,
  ]);
  key = await world.createKey('acme');
  const headers = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', baggage: `secret=${CANARY.query}` };
  const list = await world.rest('/v1/calls?start_date=2025-01-01T00:00:00Z&end_date=2026-01-01T00:00:00Z', { key, headers });
  traceId = list.headers.get('x-request-id')!;
  expect((await world.rest('/v1/calls/call_1', { key })).status).toBe(200);
  expect((await world.rest(`/v1/calls?${CANARY.query}=${CANARY.query}`, { key })).status).toBe(400);
  expect((await world.rest(`/v1/calls/${CANARY.query}%20${CANARY.query}`, { key })).status).toBe(404);
  expect((await world.rest(`/v1/calls/${key}`, { key })).status).toBe(404);
  expect((await world.rest('/v1/calls', { key: `crk_${CANARY.query}` })).status).toBe(401);
  await sendRaw(world.stack.addresses.api, `GET /${CANARY.query} HTTP/9\r\n\r\n`);
  const operator = await world.operator.operator('acme');
  const user = { email: `second-${CANARY.email}`, name: 'Two', password: CANARY.password };
  await world.operator.auth.createUser(user, operator);
  await expect(world.operator.auth.createUser(user, operator)).rejects.toThrow();
  metrics = await scrape();
  await world.close();
  await telemetry.stop();
});
afterAll(() => receiver?.close());

function scrape(): Promise<string> {
  const server = createServer((request, response) => telemetry.prometheus.getMetricsRequestHandler(request, response));
  return new Promise((resolve, reject) => {
    server.listen(0, '127.0.0.1', () => {
      fetch(`http://127.0.0.1:${(server.address() as { port: number }).port}/metrics`)
        .then((response) => response.text())
        .then(resolve, reject)
        .finally(() => server.close());
    });
  });
}

describe('the trace of a request', () => {
  it('reaches from the gateway to SQL, with the request id as its trace id', () => {
    const trace = spans.filter((span) => span.traceId === traceId);
    const path = (span: Span): string[] => {
      const parent = trace.find(({ spanId }) => spanId === span.parentSpanId);
      return [...(parent ? path(parent) : []), span.name];
    };
    const list = 'crs.calls.v1.CallsService/ListOrganizationCalls';
    expect(trace.map(path)).toContainEqual(['GET /v1/calls', list, list, 'list_calls_first_page']);
    const authenticate = 'crs.auth.v1.AuthService/AuthenticateKey';
    expect(trace.map(path)).toContainEqual(['GET /v1/calls', authenticate, authenticate, 'find_live_key']);
    expect(trace.map(path).map((names) => names.at(-1))).toContain('envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit');
  });

  it('has the spans that docs/traces.md names', async () => {
    const page = await readFile(new URL('../../../docs/traces.md', import.meta.url), 'utf8');
    const named = [...page.matchAll(/^\| `([^`]+)`/gm)].map(([, name]) => name!);
    expect(named).toHaveLength(3);
    const recorded = new Set(spans.map(({ name }) => name));
    expect(named.filter((name) => !recorded.has(name))).toEqual([]);
  });

  it("is new: the client's trace is linked, not continued", () => {
    const root = spans.find((span) => span.traceId === traceId && span.name === 'GET /v1/calls')!;
    expect(root.parentSpanId ?? '').toBe('');
    expect(root.links?.map((link) => link.traceId)).toEqual(['0af7651916cd43dd8448eb211c80319c']);
    expect(traceId).not.toBe('0af7651916cd43dd8448eb211c80319c');
  });

  it('has its id in the access-log line', () => {
    const line = world.log.map((text) => JSON.parse(text)).find((entry) => entry.msg === 'request' && entry.trace_id === traceId);
    expect(line).toMatchObject({
      service: 'api-gateway',
      method: 'GET',
      route: '/v1/calls',
      status: 200,
      organization: 'acme',
      rows: 1,
    });
  });
});

describe('the exported metrics', () => {
  it.each([
    /http_server_request_duration_count\{[^}]*http_request_method="GET"[^}]*http_route="\/v1\/calls"[^}]*http_response_status_code="200"/,
    /rpc_server_call_duration_count\{[^}]*rpc_method="crs\.calls\.v1\.CallsService\/ListOrganizationCalls"/,
    /rpc_client_call_duration_count\{[^}]*rpc_method="crs\.auth\.v1\.AuthService\/AuthenticateKey"/,
    /db_client_operation_duration_count\{[^}]*db_query_summary="list_calls_first_page"/,
    /db_client_connection_count\{[^}]*db_client_connection_pool_name="calls"/,
    /crs_ratelimit_decisions_total\{[^}]*kind="organization"[^}]*outcome="allowed"/,
    /crs_breaker_open\{[^}]*target="calls"[^}]*\} 0/,
  ])('include %s', (pattern) => {
    expect(metrics).toMatch(pattern);
  });

  it('are also pushed over OTLP if that is configured', () => {
    for (const name of ['http.server.request.duration', 'rpc.server.call.duration', 'crs.ratelimit.decisions'])
      expect(pushed.some((body) => body.includes(name))).toBe(true);
  });
});

describe('content and secrets', () => {
  it('are absent from all log lines, spans and metrics', () => {
    expect(world.log.length).toBeGreaterThanOrEqual(5);
    expect(spans.length).toBeGreaterThan(50);
    const everything = [...world.log, ...received, ...pushed, metrics];
    const planted = [...Object.values(CANARY), key, SECRET, OPERATOR_CREDENTIAL];
    const found = planted.filter((canary) => everything.some((text) => text.toLowerCase().includes(canary.toLowerCase())));
    expect(found).toEqual([]);
    expect(logProblems(world.log)).toEqual([]);
  });
});
