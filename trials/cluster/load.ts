/**
 * Sends a steady load to every route of REST and to every tool. Each failed request counts, and none is tried again. Half of the requests use kept connections, the other half
 * connections of their own.
 *
 * Usage: node trials/cluster/load.ts REQUESTS_PER_SECOND SECONDS
 * The system is in the environment: LOAD_API, LOAD_TOOLS, LOAD_TOOLS_ORIGIN, LOAD_KEY, LOAD_TOKEN (see `Target`). Prints each failure on standard error at
 * once. After that time or a SIGTERM, when the last request is answered, it prints a `Summary` as JSON. Exits with 1 where a request failed.
 */
import { randomUUID } from 'node:crypto';
import { Agent } from 'node:http';
import { exchange, type Answer } from '@crs/testing/exchange';
import { MCP_HEADERS, toolCall } from '@crs/testing/mcp';

export interface Summary {
  requests: number;
  failed: number;
  /** Number of requests of each kind. */
  kinds: Record<string, number>;
  /** Milliseconds. */
  p50: number;
  p99: number;
  slowest: number;
  /** From the first request to the last answer. */
  seconds: number;
}

/** The system: its addresses (`http://ADDRESS[:PORT]`), the public origin of the tools, and credentials. */
interface Target {
  api: string;
  tools: string;
  toolsOrigin: string;
  key: string;
  token: string;
}

interface Kind {
  name: string;
  send: (agent: Agent | undefined) => Promise<Answer>;
  /** Whether the parsed body is right. */
  good: (json: unknown) => boolean;
  status?: number;
}

const PATIENCE_MS = 20_000;

/** The kinds of requests, in the order of their turns. They read `found` when they are sent. */
function kinds({ api, tools, toolsOrigin, key, token }: Target, found: { callId: string; projectId: string }): Kind[] {
  const send = (agent: Agent | undefined, url: string, headers: Record<string, string>, body?: object) =>
    exchange(url, { agent: agent ?? false, headers, timeout: PATIENCE_MS }, body && JSON.stringify(body));
  const rest = (agent: Agent | undefined, path: string, body?: object) => {
    const creates = body && { 'content-type': 'application/json', 'idempotency-key': randomUUID() };
    return send(agent, `${api}/v1${path}`, { authorization: `Bearer ${key}`, ...creates }, body);
  };
  const tool = (agent: Agent | undefined, name: string, args: object) => {
    const headers = { ...MCP_HEADERS, host: new URL(toolsOrigin).host, authorization: `Bearer ${token}` };
    return send(agent, `${tools}/mcp`, headers, toolCall(name, args));
  };
  const has = (field: string) => (json: unknown) => typeof json === 'object' && json !== null && field in json;
  const answered = (json: unknown) => {
    const { result } = json as { result?: { isError?: boolean; structuredContent?: object } };
    return result?.structuredContent !== undefined && result.isError !== true;
  };
  const year = 'start_date=2025-01-01T00:00:00Z&end_date=2030-01-01T00:00:00Z';
  const project = { name: 'Made under load', lead_email: 'dana@northwind.example' };
  return [
    { name: 'list calls', send: (agent) => rest(agent, `/calls?${year}&per_page=20`), good: has('pagination') },
    { name: 'tool list_calls', send: (agent) => tool(agent, 'list_calls', { limit: 10 }), good: answered },
    { name: 'get call', send: (agent) => rest(agent, `/calls/${found.callId}`), good: has('call_id') },
    { name: 'tool get_call', send: (agent) => tool(agent, 'get_call', { call_id: found.callId }), good: answered },
    { name: 'changes', send: (agent) => rest(agent, '/changes?limit=10&expand=detail'), good: has('next_cursor') },
    { name: 'openapi', send: (agent) => rest(agent, '/openapi.json'), good: has('paths') },
    { name: 'billing offices', send: (agent) => rest(agent, '/billing-offices'), good: has('data') },
    { name: 'tool list_projects', send: (agent) => tool(agent, 'list_projects', { scope: 'all' }), good: answered },
    { name: 'create project', send: (agent) => rest(agent, '/projects', project), good: has('project_id'), status: 201 },
    { name: 'get project', send: (agent) => rest(agent, `/projects/${found.projectId}`), good: has('project_id') },
    {
      name: 'tool list_entities',
      send: (agent) => tool(agent, 'list_entities', { project_id: found.projectId }),
      good: answered,
    },
  ];
}

/** @throws Error if the organization holds no call or project */
async function kindsFor(target: Target): Promise<Kind[]> {
  const found = { callId: '', projectId: '' };
  const mixture = kinds(target, found);
  const ask = async (name: string) => {
    const { status, body } = await mixture.find((kind) => kind.name === name)!.send(undefined);
    if (status !== 200) throw new Error(`${name}: ${status} ${body}`);
    return JSON.parse(body) as unknown;
  };
  const calls = (await ask('list calls')) as { data: { call_id: string }[] };
  const projects = (await ask('tool list_projects')) as { result: { structuredContent?: { projects: { id: string }[] } } };
  found.callId = calls.data[0]?.call_id ?? '';
  found.projectId = projects.result.structuredContent?.projects[0]?.id ?? '';
  if (found.callId === '' || found.projectId === '') throw new Error('There is no call or no project to read; import the demo.');
  return mixture;
}

/** Sends requests until the time is over or `stop` fires, and calls `failed` with each failure. */
export async function load(
  target: Target,
  perSecond: number,
  seconds: number,
  stop: AbortSignal,
  failed: (text: string) => void,
): Promise<Summary> {
  const mixture = await kindsFor(target);
  const kept = new Agent({ keepAlive: true, maxSockets: 64 });
  const times: number[] = [];
  const counts: Record<string, number> = {};
  const pending = new Set<Promise<void>>();
  let failures = 0;
  const one = async (index: number) => {
    const { name, send: sendOne, good, status = 200 } = mixture[index % mixture.length]!;
    // Each kind alternates between kept and own connections.
    const keep = Math.floor(index / mixture.length) % 2 === 0;
    const started = performance.now();
    let fault: string | undefined;
    try {
      const answer = await sendOne(keep ? kept : undefined);
      if (answer.status !== status || !good(JSON.parse(answer.body))) fault = `${answer.status} ${answer.body.slice(0, 300)}`;
    } catch (error) {
      fault = String(error);
    }
    const took = performance.now() - started;
    times.push(took);
    counts[name] = (counts[name] ?? 0) + 1;
    if (fault === undefined) return;
    failures += 1;
    failed(
      `${new Date().toISOString()} ${name}, ${keep ? 'kept' : 'own'} connection, after ${took.toFixed(0)} ms: ${fault.replaceAll(/\s+/g, ' ')}`,
    );
  };

  const begun = performance.now();
  // Requests are sent by the clock, so that slow answers don't lower the load.
  for (let index = 0; !stop.aborted && index < perSecond * seconds; index++) {
    const wait = begun + (index * 1000) / perSecond - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    const sent = one(index).finally(() => pending.delete(sent));
    pending.add(sent);
  }
  await Promise.all(pending);
  kept.destroy();
  times.sort((a, b) => a - b);
  const at = (share: number) => Math.round(times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0);
  return {
    requests: times.length,
    failed: failures,
    kinds: counts,
    p50: at(0.5),
    p99: at(0.99),
    slowest: at(1),
    seconds: Math.round((performance.now() - begun) / 1000),
  };
}

if (import.meta.main) {
  const { LOAD_API, LOAD_TOOLS, LOAD_TOOLS_ORIGIN, LOAD_KEY, LOAD_TOKEN } = process.env;
  const [perSecond, seconds] = process.argv.slice(2).map(Number);
  if (!LOAD_API || !LOAD_TOOLS || !LOAD_TOOLS_ORIGIN || !LOAD_KEY || !LOAD_TOKEN || !perSecond || !seconds) {
    process.stderr.write(
      'usage: LOAD_API=... LOAD_TOOLS=... LOAD_TOOLS_ORIGIN=... LOAD_KEY=... LOAD_TOKEN=... node trials/cluster/load.ts REQUESTS_PER_SECOND SECONDS\n',
    );
    process.exit(2);
  }
  const stop = new AbortController();
  process.once('SIGTERM', () => stop.abort());
  const target = { api: LOAD_API, tools: LOAD_TOOLS, toolsOrigin: LOAD_TOOLS_ORIGIN, key: LOAD_KEY, token: LOAD_TOKEN };
  const summary = await load(target, perSecond, seconds, stop.signal, (text) => process.stderr.write(`${text}\n`));
  process.stdout.write(`${JSON.stringify(summary)}\n`);
  process.exitCode = summary.failed === 0 ? 0 : 1;
}
