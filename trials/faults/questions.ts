import { randomUUID } from 'node:crypto';
import type { Answer } from '@crs/testing/send-request';
import { MCP_HEADERS, toolCall } from '@crs/testing/mcp';

export interface Prepared {
  headers: Record<string, string>;
  body?: string;
}

/** The judgement of one answer. */
export interface Verdict {
  /** HTTP status; 0 without an answer. A tool result that is an error counts as the 503 or 504 that it stands for. */
  status: number;
  /** Reason why no client may ever get this answer, whatever is down. */
  wrong: string | undefined;
  served: boolean;
}

/** A request that clients repeat, and the judge of its answers. */
export interface Question {
  name: string;
  gateway: 'api' | 'tools';
  method: string;
  path: string;
  /** Milliseconds within which an answer must be there. */
  deadlineMs: number;
  prepare(): Prepared;
  judge(answer: Answer, prepared: Prepared): Verdict;
}

/** The credentials of the clients, which may be replaced while they ask, and the records that they ask for. */
export interface Asker {
  key: string;
  token: string;
  callId: string;
  projectId: string;
  leadEmail: string;
  /** The value of `Host` at the tools; by default the address of the replica. */
  toolsHost?: string;
  /** Called for each acknowledged creation, with the project's id and the body of the answer. */
  onCreated: (id: string, body: string) => void;
}

const META = 'io.modelcontextprotocol';
const MODERN = '2026-07-28';

/** The mixed load: reads and creations over REST, tools in both generations of the protocol, sign-in metadata. */
export function questionsOf(asker: Asker): Question[] {
  const rest = (name: string, path: string): Question =>
    read({ name, gateway: 'api', method: 'GET', path, deadlineMs: 5_000 }, () => ({
      headers: { authorization: `Bearer ${asker.key}` },
    }));
  return [
    rest('list', '/v1/calls?start_date=2025-01-01T00:00:00Z&end_date=2025-12-31T00:00:00Z'),
    rest('call', `/v1/calls/${asker.callId}`),
    tool('list_projects', {}, asker, 'legacy'),
    tool('list_calls', { scope: 'all', limit: 100 }, asker, 'modern'),
    rest('project', `/v1/projects/${asker.projectId}`),
    creation(asker),
    tool('get_call', { call_id: asker.callId }, asker, 'legacy'),
    rest('offices', '/v1/billing-offices'),
    tool('list_entities', { project_id: asker.projectId }, asker, 'modern'),
    rest('list', '/v1/calls?start_date=2025-01-01T00:00:00Z&end_date=2025-12-31T00:00:00Z&page=2'),
    tool('get_call', { call_id: asker.callId, include_transcript: true }, asker, 'modern'),
    read(
      { name: 'discovery', gateway: 'tools', method: 'GET', path: '/.well-known/oauth-authorization-server', deadlineMs: 15_000 },
      () => ({ headers: hostOf(asker) }),
    ),
  ];
}

const hostOf = ({ toolsHost }: Asker): Record<string, string> => (toolsHost === undefined ? {} : { host: toolsHost });

type Fixed = Pick<Question, 'name' | 'gateway' | 'method' | 'path' | 'deadlineMs'>;

/** A question whose answer never changes. The first 200, which comes before any fault, is the right answer. */
function read(fixed: Fixed, prepare: () => Prepared): Question {
  let right: string | undefined;
  return {
    ...fixed,
    prepare,
    judge: (answer) => {
      if (answer.status !== 200) return judgeRefusal(answer);
      right ??= answer.body;
      const wrong = answer.body === right ? undefined : `not the right answer: ${answer.body.slice(0, 300)}`;
      return { status: 200, served: wrong === undefined, wrong };
    },
  };
}

function tool(name: string, args: object, asker: Asker, generation: 'legacy' | 'modern'): Question {
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
    ...hostOf(asker),
    authorization: `Bearer ${asker.token}`,
    ...(isModern && modernHeaders),
  });
  const question = read({ name, gateway: 'tools', method: 'POST', path: '/mcp', deadlineMs: 15_000 }, () => ({
    headers: headers(),
    body,
  }));
  return {
    ...question,
    judge: (answer, prepared) => {
      const refused = answer.status === 200 ? toolError(answer) : undefined;
      return refused ?? question.judge(answer, prepared);
    },
  };
}

/** Translates a tool result that is an error into the status that it stands for. Undefined: the result is no error. */
function toolError({ headers, body }: Answer): Verdict | undefined {
  const { result, error } = JSON.parse(body) as {
    result?: { isError?: boolean; content: { text: string }[] };
    error?: unknown;
  };
  if (error !== undefined) return { status: 200, served: false, wrong: `a protocol error: ${body.slice(0, 300)}` };
  if (result?.isError !== true) return undefined;
  const said = (JSON.parse(result.content[0]!.text) as { error: { message: string } }).error.message;
  const status = said.startsWith('The service is not available') ? 503 : said.startsWith('The request took too long') ? 504 : 500;
  const wrong = status === 500 ? said : headers['retry-after'] === undefined ? 'no Retry-After' : undefined;
  return { status, served: false, wrong };
}

/** Creates projects, each under an idempotency key of its own. */
function creation(asker: Asker): Question {
  const { leadEmail, onCreated } = asker;
  return {
    name: 'create',
    gateway: 'api',
    method: 'POST',
    path: '/v1/projects',
    deadlineMs: 10_000,
    prepare: () => {
      const idempotencyKey = randomUUID();
      return {
        headers: { authorization: `Bearer ${asker.key}`, 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
        body: JSON.stringify({ name: idempotencyKey, lead_email: leadEmail, member_emails: [] }),
      };
    },
    judge: (answer, { headers }) => {
      if (answer.status !== 201) return judgeRefusal(answer);
      const created = JSON.parse(answer.body) as { project_id: string; name: string };
      const wrong = created.name === headers['idempotency-key'] ? undefined : `another project: ${answer.body}`;
      onCreated(created.project_id, answer.body);
      return { status: 201, served: wrong === undefined, wrong };
    },
  };
}

function judgeRefusal({ status, headers, body }: Answer): Verdict {
  const isProper = status === 503 || status === 504;
  const wrong = !isProper ? body.slice(0, 300) : headers['retry-after'] === undefined ? 'no Retry-After' : undefined;
  return { status, served: false, wrong: wrong === undefined ? undefined : `${status}: ${wrong}` };
}
