/** Checks the requests and responses of tests against the gateway's OpenAPI document, with Prism (installed by `.ci/openapi`). */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePorts } from './ports.ts';
import { restClient, type Rest, type RestRequest, type RestResponse } from './rest.ts';

const CLI = fileURLToPath(new URL('../../.ci/openapi/node_modules/@stoplight/prism-cli/dist/index.js', import.meta.url));
/** The header with the id of the replayed exchange, for the stub. */
const EXCHANGE = 'x-crs-exchange';
/** Prism sets these itself. */
const NOT_REPLAYED = new Set(['connection', 'content-length', 'date', 'keep-alive', 'transfer-encoding']);

interface Exchange {
  path: string;
  request: RestRequest;
  response: RestResponse;
}

export interface Recorder {
  rest: Rest;
  /** Replays the exchanges since the last check through Prism. @throws Error that lists the exchanges that violate the document */
  check(): Promise<void>;
}

/**
 * Creates a client of the gateway that records each exchange (a request and its response), so that tests use the gateway directly, at full speed. A check
 * sends each request to Prism, which forwards it to a stub that repeats the gateway's response. An exchange violates the document if its response isn't
 * as documented, or if the gateway served a request that the document excludes.
 */
export async function startRecorder(origin: string): Promise<Recorder> {
  const send = restClient(origin);
  const { text: document, json } = await send('/v1/openapi.json');
  const isDocumented = matcher((json as { paths: Record<string, object> }).paths);
  let exchanges: Exchange[] = [];
  return {
    rest: async (path, request = {}) => {
      const response = await send(path, request);
      const skipped = isDocumented(path, request.method ?? 'GET') ? whyNot(path, request) : 'not in the document';
      if (skipped === undefined) exchanges.push({ path, request, response });
      else report({ method: request.method ?? 'GET', path, status: response.status, skipped });
      return response;
    },
    check: async () => {
      const recorded = exchanges;
      exchanges = [];
      const broken = recorded.length === 0 ? [] : await replayAll(document, recorded);
      if (broken.length > 0) throw new Error(`exchanges that violate the OpenAPI document:\n${broken.join('\n')}`);
    },
  };
}

/** @param document the OpenAPI document @returns a line for each exchange that violates it */
async function replayAll(document: string, exchanges: Exchange[]): Promise<string[]> {
  const stub = createServer((request, response) => {
    const recorded = exchanges[Number(request.headers[EXCHANGE])]!.response;
    const headers = [...recorded.headers].filter(([name]) => !NOT_REPLAYED.has(name));
    response.writeHead(recorded.status, Object.fromEntries(headers)).end(recorded.text);
  });
  stub.listen(0, '127.0.0.1');
  await once(stub, 'listening');
  const { port } = stub.address() as AddressInfo;
  const directory = await mkdtemp(join(tmpdir(), 'crs-prism-'));
  await writeFile(join(directory, 'openapi.json'), document);
  const prism = await startPrism(join(directory, 'openapi.json'), `http://127.0.0.1:${port}/v1`);
  try {
    const broken: string[] = [];
    for (const [id, exchange] of exchanges.entries()) {
      const found = await replay(prism.origin, String(id), exchange);
      const { path, request, response } = exchange;
      const method = request.method ?? 'GET';
      report({ method, path, status: response.status, violations: found });
      if (found.length > 0) broken.push(`${method} ${path} ${response.status}: ${JSON.stringify(found)}`);
    }
    return broken;
  } finally {
    prism.child.kill();
    stub.close();
    await rm(directory, { recursive: true });
  }
}

async function replay(origin: string, id: string, { path, request, response }: Exchange): Promise<Violation[]> {
  const { method = 'GET', body, key, headers } = request;
  const replayed = await fetch(`${origin}${path.slice('/v1'.length)}`, {
    method,
    // Prism recognizes the scheme only as `Bearer`, although it is case-insensitive.
    headers: { ...(key !== undefined && { authorization: `Bearer ${key}` }), ...oneSpelling(headers), [EXCHANGE]: id },
    ...(body !== undefined && { body }),
  });
  await replayed.arrayBuffer();
  if (replayed.status !== response.status) throw new Error(`Prism responded to ${method} ${path} itself: ${replayed.status}`);
  return violations(replayed.headers.get('sl-violations'), response.status);
}

/** Returns why Prism 5.16 can't replay a request; undefined if it can. */
function whyNot(path: string, { body, headers }: RestRequest): string | undefined {
  if (!succeeds(() => decodeURIComponent(path))) return 'Prism ends on a path that can’t be decoded';
  if (body !== undefined && !succeeds(() => JSON.parse(body))) return 'Prism hangs on a body that is not JSON';
  return /charset=(?!utf-8)/i.test(headers?.['content-type'] ?? '') ? 'Prism hangs on another charset' : undefined;
}

/** Returns a function that tells whether the document has a path and method. HEAD isn't in it: Prism would parse the empty body as JSON. */
function matcher(paths: Record<string, object>): (path: string, method: string) => boolean {
  const patterns = Object.entries(paths).map(([template, methods]) => ({
    pattern: new RegExp(`^/v1${template.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
    methods,
  }));
  return (path, method) =>
    patterns.some(({ pattern, methods }) => pattern.test(path.split('?')[0]!) && method.toLowerCase() in methods);
}

function oneSpelling(headers: Record<string, string> = {}): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) =>
      name.toLowerCase() === 'authorization' ? [name, value.replace(/^bearer +/i, 'Bearer ')] : [name, value],
    ),
  );
}

interface Violation {
  location: string[];
  message: string;
}

/** Returns the violations of a response and, if the request was served, those of the request. */
function violations(header: string | null, status: number): Violation[] {
  // If there are too many violations, Prism returns a sentence instead of a list.
  const all = header?.startsWith('Too many')
    ? [{ location: ['response'], message: header }]
    : (JSON.parse(header ?? '[]') as Violation[]);
  return all.filter(({ location }) => location[0] === 'response' || status < 400);
}

/** Appends the exchange as a line of JSON to the file CRS_TEST_PRISM_REPORT, if set. */
function report(exchange: object): void {
  const file = process.env['CRS_TEST_PRISM_REPORT'];
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(exchange)}\n`);
}

async function startPrism(document: string, upstream: string): Promise<{ child: ChildProcess; origin: string }> {
  const [port] = await freePorts(1);
  const child = spawn(process.execPath, [CLI, 'proxy', document, upstream, '--port', String(port)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject).once('exit', (code) => reject(new Error(`Prism ended with ${code}`)));
    child.stdout.on('data', (chunk: Buffer) => chunk.includes('Prism is listening') && resolve());
  });
  return { child, origin: `http://127.0.0.1:${port}` };
}

function succeeds(attempt: () => unknown): boolean {
  try {
    attempt();
    return true;
  } catch {
    return false;
  }
}
