// Run by `helm test`: creates an organization, sends requests through both gateways, and deletes the organization.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { request, type IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { origin, readEnvironment } from '@crs/kit/process/config';

const settings = z.object({
  /** The gateways' addresses in the cluster. */
  CRS_SMOKE_API: origin,
  CRS_SMOKE_TOOLS: origin,
  /** The public URL of the tools. */
  CRS_TOOLS_URL: origin,
});
const env = readEnvironment(settings, process.env);
const TIMEOUT_MS = 20_000;
const api = requester(env.CRS_SMOKE_API);
// The tool gateway accepts only its public name as host.
const tools = requester(env.CRS_SMOKE_TOOLS, new URL(env.CRS_TOOLS_URL).host);

const organization = `helm-test-${randomBytes(4).toString('hex')}`;
const email = 'ann@helm-test.example';
const project = '11111111-2222-4333-8444-555555555555';
const created_at = '2025-01-15T10:00:00Z';
const records = [
  { type: 'user', organization, email, name: 'Ann' },
  { type: 'project', organization, id: project, name: 'Boxes', created_at, members: [{ email, role: 'lead' }] },
  {
    type: 'call',
    organization,
    id: 'call_1',
    project_id: project,
    conducted_by: email,
    created_at,
    transcript: 'Ann: Shall we start?',
  },
  { type: 'entity', organization, project_id: project, id: project, name: 'Box Inc', entity_type: 'company', created_at },
];

const CRS = fileURLToPath(new URL('../../../services/crs/src/main.ts', import.meta.url));

/** Runs `crs ... --json`. @throws Error with the program's message */
async function crs(args: string[], input = ''): Promise<Record<string, unknown>> {
  const child = spawn(process.execPath, [CRS, ...args, '--json'], { stdio: 'pipe' });
  child.stdin.end(input);
  const ended = new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve));
  const [output, problem, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  if (code !== 0) throw new Error(`crs ${args.join(' ')}: ${problem.trim() || output.trim()}`);
  return JSON.parse(output) as Record<string, unknown>;
}

let requestId = 0;
const callTool = async (token: string, method: string, params: object) => {
  const body = { jsonrpc: '2.0', id: ++requestId, method, params };
  const response = await tools('POST', '/mcp', { authorization: `Bearer ${token}`, 'mcp-protocol-version': '2025-11-25' }, body);
  expect(response.status, 200);
  const message = response.body as { result?: Record<string, unknown> };
  if (!message.result || message.result['isError']) throw new Error(JSON.stringify(message));
  return message.result;
};

let passed = 0;
let failed = 0;

/** Runs a check and prints a line for it. A failed check doesn't stop the others. @returns whether it passed */
async function check(name: string, run: () => Promise<void>): Promise<boolean> {
  try {
    await run();
    passed += 1;
    process.stdout.write(`ok    ${name}\n`);
    return true;
  } catch (error) {
    failed += 1;
    process.stdout.write(`FAIL  ${name}: ${(error as Error).message}\n`);
    return false;
  }
}

interface HttpResponse {
  status: number;
  headers: IncomingHttpHeaders;
  /** The parsed JSON object; any other body is `{ text }`. */
  body: Record<string, unknown>;
}

/** Sends requests to an HTTP origin. @param host replaces the `Host` header @throws Error without a response within 20 s */
function requester(origin: string, host?: string) {
  return (method: string, path: string, headers: Record<string, string> = {}, body?: object): Promise<HttpResponse> => {
    const content = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    return new Promise<HttpResponse>((resolve, reject) => {
      request(`${origin}${path}`, { method, signal, headers: { ...content, ...(host && { host }), ...headers } }, (response) => {
        text(response).then(
          (raw) => resolve({ status: response.statusCode!, headers: response.headers, body: parse(raw) }),
          reject,
        );
      })
        .on('error', reject)
        .end(body && JSON.stringify(body));
    });
  };
}

/** Parses JSON, or the JSON of a server-sent event. */
function parse(raw: string): Record<string, unknown> {
  const json = raw.startsWith('{') ? raw : (/^data: ?(\{.*\})$/m.exec(raw)?.[1] ?? '');
  try {
    return JSON.parse(json) as Record<string, unknown>;
  } catch {
    return { text: raw };
  }
}

/** @throws if the two differ */
function expect(actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected)) throw new Error(`${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`);
}

await check('REST describes itself', async () => {
  const { status, body } = await api('GET', '/v1/openapi.json');
  expect([status, String(body['openapi']).slice(0, 3)], [200, '3.1']);
});
await check('REST refuses and counts requests without a key', async () => {
  const { status, headers, body } = await api('GET', '/v1/calls');
  expect([status, (body['error'] as { code?: string }).code], [401, 'unauthorized']);
  expect([Number(headers['x-ratelimit-limit']) > 0, /^\d+$/.test(String(headers['x-ratelimit-remaining']))], [true, true]);
});
await check('the tools name their sign-in server', async () => {
  const { status, headers } = await tools('POST', '/mcp', {}, { jsonrpc: '2.0', id: 1, method: 'tools/list' });
  const metadata = `${env.CRS_TOOLS_URL}/.well-known/oauth-protected-resource/mcp`;
  expect([status, headers['www-authenticate']?.includes(`resource_metadata="${metadata}"`)], [401, true]);
  const resource = await tools('GET', '/.well-known/oauth-protected-resource/mcp');
  expect([resource.status, resource.body['resource']], [200, `${env.CRS_TOOLS_URL}/mcp`]);
});
await check('sign-in describes itself', async () => {
  const { status, body } = await tools('GET', '/.well-known/oauth-authorization-server');
  expect([status, body['issuer']], [200, env.CRS_TOOLS_URL]);
});
await check('operators reach every service', async () => {
  expect((await crs(['status']))['ok'], true);
});
const made = await check('an organization is created, and records are imported', async () => {
  await crs(['org', 'create', organization, '--name', 'helm test']);
  const lines = records.map((record) => JSON.stringify(record)).join('\n');
  expect((await crs(['import', '-'], `${lines}\n`))['accepted'], records.length);
});
if (made) {
  await check('its key lists its call over REST', async () => {
    const { key } = await crs(['key', 'create', '--org', organization]);
    const range = 'start_date=2025-01-01T00:00:00Z&end_date=2025-02-01T00:00:00Z';
    const { status, body } = await api('GET', `/v1/calls?${range}`, { authorization: `Bearer ${String(key)}` });
    expect([status, (body['data'] as { call_id: string }[])?.map(({ call_id }) => call_id)], [200, ['call_1']]);
  });
  await check('its user reads through the tools', async () => {
    const { access_token } = await crs(['token', 'create', '--org', organization, '--user', email]);
    const list = await callTool(String(access_token), 'tools/list', {});
    const names = (list['tools'] as { name: string }[]).map(({ name }) => name);
    expect(names.toSorted(), ['get_call', 'list_calls', 'list_entities', 'list_projects']);
    for (const [name, args, kind] of [
      ['list_projects', {}, 'projects'],
      ['list_calls', {}, 'calls'],
      ['list_entities', { project_id: project }, 'entities'],
    ] as const) {
      const { structuredContent } = await callTool(String(access_token), 'tools/call', { name, arguments: args });
      expect([name, (structuredContent as Record<string, unknown[]>)[kind]?.length], [name, 1]);
    }
  });
}
// This also deletes the records of failed checks.
await check('the organization is deleted', async () => {
  await crs(['org', 'delete', organization, '--yes']);
});
process.stdout.write(`${passed} passed, ${failed} failed\n`);
if (failed > 0) process.exitCode = 1;
