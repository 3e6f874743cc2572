/** The requests of the fault trials, each with a check of its responses. */
import { randomUUID } from 'node:crypto';
import type { HttpResponse } from '@crs/testing/send-request';
import { MCP_HEADERS, toolCall } from '@crs/testing/mcp';

export interface Prepared {
  headers: Record<string, string>;
  body?: string;
}

/** The verdict on one response. */
export interface Verdict {
  /** The HTTP status; 0 without a response. For a tool's error result, the 503 or 504 that REST would have sent. */
  status: number;
  /** Why this response is wrong even while components are down. */
  wrong: string | undefined;
  /** Whether this is the successful response that the client expects. */
  served: boolean;
}

/** A request that clients repeat, and the check of its responses. */
export interface RepeatedRequest {
  name: string;
  gateway: 'api' | 'tools';
  method: string;
  path: string;
  /** Milliseconds within which a response must be complete. */
  deadlineMs: number;
  prepare(): Prepared;
  evaluate(response: HttpResponse, prepared: Prepared): Verdict;
}

/** The clients' credentials, which may be replaced under load, and the records that they request. */
export interface RequestData {
  key: string;
  token: string;
  callId: string;
  projectId: string;
  leadEmail: string;
  /** The `Host` header of requests to the tools. Default: the replica's address. */
  toolsHost?: string;
  /** Called for each acknowledged creation with the project's id and the response body. */
  onCreated: (id: string, body: string) => void;
}

const META = 'io.modelcontextprotocol';
const MODERN = '2026-07-28';

/** The mixed load: reads and creations over REST, tools in both generations of the protocol, sign-in metadata. */
export function requestsOf(requestData: RequestData): RepeatedRequest[] {
  const rest = (name: string, path: string): RepeatedRequest =>
    read({ name, gateway: 'api', method: 'GET', path, deadlineMs: 5_000 }, () => ({
      headers: { authorization: `Bearer ${requestData.key}` },
    }));
  return [
    rest('list', '/v1/calls?start_date=2025-01-01T00:00:00Z&end_date=2025-12-31T00:00:00Z'),
    rest('call', `/v1/calls/${requestData.callId}`),
    tool('list_projects', {}, requestData, 'legacy'),
    tool('list_calls', { scope: 'all', limit: 100 }, requestData, 'modern'),
    rest('project', `/v1/projects/${requestData.projectId}`),
    creation(requestData),
    tool('get_call', { call_id: requestData.callId }, requestData, 'legacy'),
    rest('offices', '/v1/billing-offices'),
    rest('entities', '/v1/entities'),
    tool('list_entities', { project_id: requestData.projectId }, requestData, 'modern'),
    rest('list', '/v1/calls?start_date=2025-01-01T00:00:00Z&end_date=2025-12-31T00:00:00Z&page=2'),
    tool('get_call', { call_id: requestData.callId, include_transcript: true }, requestData, 'modern'),
    read(
      { name: 'discovery', gateway: 'tools', method: 'GET', path: '/.well-known/oauth-authorization-server', deadlineMs: 15_000 },
      () => ({ headers: hostOf(requestData) }),
    ),
  ];
}

const hostOf = ({ toolsHost }: RequestData): Record<string, string> => (toolsHost === undefined ? {} : { host: toolsHost });

type Fixed = Pick<RepeatedRequest, 'name' | 'gateway' | 'method' | 'path' | 'deadlineMs'>;

/** A request whose response never changes. The first 200 precedes any fault, so its body is the expected one. */
function read(fixed: Fixed, prepare: () => Prepared): RepeatedRequest {
  let expectedBody: string | undefined;
  return {
    ...fixed,
    prepare,
    evaluate: (response) => {
      if (response.status !== 200) return evaluateRefusal(response);
      expectedBody ??= response.body;
      const wrong = response.body === expectedBody ? undefined : `not the expected body: ${response.body.slice(0, 300)}`;
      return { status: 200, served: wrong === undefined, wrong };
    },
  };
}

function tool(name: string, args: object, requestData: RequestData, generation: 'legacy' | 'modern'): RepeatedRequest {
  const isModern = generation === 'modern';
  const _meta = {
    [`${META}/protocolVersion`]: MODERN,
    [`${META}/clientCapabilities`]: {},
    [`${META}/clientInfo`]: { name: 'faults', version: '1' },
  };
  const message = toolCall(name, args);
  const body = JSON.stringify({ ...message, params: { ...message.params, ...(isModern && { _meta }) } });
  const modernHeaders = { 'mcp-protocol-version': MODERN, 'mcp-method': 'tools/call', 'mcp-name': name };
  const headers = () => ({
    ...MCP_HEADERS,
    ...hostOf(requestData),
    authorization: `Bearer ${requestData.token}`,
    ...(isModern && modernHeaders),
  });
  const request = read({ name, gateway: 'tools', method: 'POST', path: '/mcp', deadlineMs: 15_000 }, () => ({
    headers: headers(),
    body,
  }));
  return {
    ...request,
    evaluate: (response, prepared) => {
      const refused = response.status === 200 ? toolError(response) : undefined;
      return refused ?? request.evaluate(response, prepared);
    },
  };
}

/** Translates a tool's error result into the status that REST would have sent. @returns undefined for a result without an error */
function toolError({ headers, body }: HttpResponse): Verdict | undefined {
  const { result, error } = JSON.parse(body) as {
    result?: { isError?: boolean; content: { text: string }[] };
    error?: unknown;
  };
  if (error !== undefined) return { status: 200, served: false, wrong: `a protocol error: ${body.slice(0, 300)}` };
  if (result?.isError !== true) return undefined;
  const message = (JSON.parse(result.content[0]!.text) as { error: { message: string } }).error.message;
  const status = message.startsWith('The service is not available')
    ? 503
    : message.startsWith('The request took too long')
      ? 504
      : 500;
  const wrong = status === 500 ? message : headers['retry-after'] === undefined ? 'no Retry-After' : undefined;
  return { status, served: false, wrong };
}

/** Creates projects, each with its own idempotency key. */
function creation(requestData: RequestData): RepeatedRequest {
  const { leadEmail, onCreated } = requestData;
  return {
    name: 'create',
    gateway: 'api',
    method: 'POST',
    path: '/v1/projects',
    deadlineMs: 10_000,
    prepare: () => {
      const idempotencyKey = randomUUID();
      return {
        headers: {
          authorization: `Bearer ${requestData.key}`,
          'content-type': 'application/json',
          'idempotency-key': idempotencyKey,
        },
        body: JSON.stringify({ name: idempotencyKey, lead_email: leadEmail, member_emails: [] }),
      };
    },
    evaluate: (response, { headers }) => {
      if (response.status !== 201) return evaluateRefusal(response);
      const created = JSON.parse(response.body) as { project_id: string; name: string };
      const wrong = created.name === headers['idempotency-key'] ? undefined : `another project: ${response.body}`;
      onCreated(created.project_id, response.body);
      return { status: 201, served: wrong === undefined, wrong };
    },
  };
}

function evaluateRefusal({ status, headers, body }: HttpResponse): Verdict {
  const isProper = status === 503 || status === 504;
  const wrong = !isProper ? body.slice(0, 300) : headers['retry-after'] === undefined ? 'no Retry-After' : undefined;
  return { status, served: false, wrong: wrong === undefined ? undefined : `${status}: ${wrong}` };
}
