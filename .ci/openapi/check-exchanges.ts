/**
 * Checks the requests and responses that tests recorded in a folder (see `testing/src/record-exchanges.ts`) against the OpenAPI document, with Prism.
 *   node check-exchanges.ts FOLDER DOCUMENT
 * Prism gets each request and forwards it to a stub that repeats the gateway's response. An exchange violates the document if its response isn't as
 * documented, or if the gateway served a request that the document excludes. Prints each violation, and counts exchanges by method and status, and those
 * that Prism can't check by reason. Exits with 1 if an exchange violates the document, or if none was checked.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Exchange } from '../../testing/src/record-exchanges.ts';

const CLI = fileURLToPath(new URL('node_modules/@stoplight/prism-cli/dist/index.js', import.meta.url));
/** Prism sets these itself. */
const NOT_REPLAYED = new Set(['connection', 'content-length', 'date', 'keep-alive', 'transfer-encoding']);
const TIMEOUT_MS = 30_000;

interface Violation {
  location: string[];
  message: string;
}

const [folder = '', document = ''] = process.argv.slice(2);
const print = (line: string) => process.stdout.write(`${line}\n`);

/** Yields the recorded exchanges, of one process after another. */
function* recorded(): Generator<Exchange> {
  for (const name of readdirSync(folder)) {
    const lines = readFileSync(join(folder, name), 'utf8').split('\n');
    for (const line of lines) if (line !== '') yield JSON.parse(line) as Exchange;
  }
}

/** Returns a function that replays an exchange through Prism, and another that ends Prism. */
async function startPrism() {
  let current: Exchange | undefined;
  const stub = createServer((_request, response) => {
    const headers = current!.headers.filter(([name]) => !NOT_REPLAYED.has(name));
    response.writeHead(current!.status, Object.fromEntries(headers)).end(current!.text);
  });
  await once(stub.listen(0, '127.0.0.1'), 'listening');
  const upstream = `http://127.0.0.1:${(stub.address() as AddressInfo).port}/v1`;
  const child = spawn(process.execPath, [CLI, 'proxy', document, upstream, '--port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  process.once('exit', () => child.kill());
  const origin = await new Promise<string>((resolve, reject) => {
    child.once('error', reject).once('exit', (code) => reject(new Error(`Prism ended with ${code}`)));
    setTimeout(() => reject(new Error(`Prism did not start within ${TIMEOUT_MS} ms`)), TIMEOUT_MS).unref();
    createInterface({ input: child.stdout }).on('line', (line) => {
      const listening = /Prism is listening on (\S+)/.exec(line);
      if (listening) resolve(listening[1]!);
    });
  });
  const replay = async (exchange: Exchange) => {
    current = exchange;
    const { method = 'GET', body, key, headers } = exchange.request;
    const response = await fetch(`${origin}${exchange.path.slice('/v1'.length)}`, {
      method,
      // Prism recognizes the scheme only as `Bearer`, although it is case-insensitive.
      headers: { ...(key !== undefined && { authorization: `Bearer ${key}` }), ...oneSpelling(headers) },
      ...(body !== undefined && { body }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    await response.arrayBuffer();
    if (response.status !== exchange.status) throw new Error(`Prism responded itself: ${response.status}`);
    return violations(response.headers.get('sl-violations'), exchange.status);
  };
  const stop = () => {
    child.removeAllListeners('exit').kill();
    stub.close();
  };
  return { replay, stop };
}

function oneSpelling(headers: Record<string, string> = {}): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) =>
      name.toLowerCase() === 'authorization' ? [name, value.replace(/^bearer +/i, 'Bearer ')] : [name, value],
    ),
  );
}

/** Returns the violations of a response and, if the request was served, those of the request. */
function violations(header: string | null, status: number): Violation[] {
  // If there are too many violations, Prism returns a sentence instead of a list.
  const all = header?.startsWith('Too many')
    ? [{ location: ['response'], message: header }]
    : (JSON.parse(header ?? '[]') as Violation[]);
  return all.filter(({ location }) => location[0] === 'response' || status < 400);
}

/** Returns a function that tells whether the document has a path and method. HEAD isn't in it: Prism would parse the empty body as JSON. */
function matcher(): (exchange: Exchange) => boolean {
  const { paths } = JSON.parse(readFileSync(document, 'utf8')) as { paths: Record<string, object> };
  const patterns = Object.entries(paths).map(([template, methods]) => ({
    pattern: new RegExp(`^/v1${template.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
    methods,
  }));
  return ({ path, request: { method = 'GET' } }) =>
    patterns.some(({ pattern, methods }) => pattern.test(path.split('?')[0]!) && method.toLowerCase() in methods);
}

/** Returns why Prism 5.16 can't replay a request; undefined if it can. */
function whyNot({ path, request: { body, headers } }: Exchange): string | undefined {
  if (!succeeds(() => decodeURIComponent(path))) return 'Prism ends on a path that can’t be decoded';
  if (body !== undefined && !succeeds(() => JSON.parse(body))) return 'Prism hangs on a body that is not JSON';
  return /charset=(?!utf-8)/i.test(headers?.['content-type'] ?? '') ? 'Prism hangs on another charset' : undefined;
}

function succeeds(attempt: () => unknown): boolean {
  try {
    attempt();
    return true;
  } catch {
    return false;
  }
}

const checked = new Map<string, number>();
const skipped = new Map<string, number>();
const count = (counts: Map<string, number>, name: string) => counts.set(name, (counts.get(name) ?? 0) + 1);
const printCounts = (counts: Map<string, number>) =>
  [...counts].toSorted().forEach(([name, number]) => print(`${String(number).padStart(6)} ${name}`));
const sum = (counts: Map<string, number>) => [...counts.values()].reduce((total, number) => total + number, 0);

const isDocumented = matcher();
const prism = await startPrism();
let broken = 0;
for (const exchange of recorded()) {
  const reason = isDocumented(exchange) ? whyNot(exchange) : 'not in the document';
  if (reason !== undefined) {
    count(skipped, reason);
    continue;
  }
  const request = `${exchange.request.method ?? 'GET'} ${exchange.path} ${exchange.status}`;
  const found = await prism.replay(exchange).catch((error: unknown) => [{ message: String(error) }]);
  count(checked, request.replace(/ \S+ /, ' '));
  if (found.length === 0) continue;
  broken++;
  print(`${request} (${exchange.test}): ${JSON.stringify(found)}`);
}
prism.stop();

print(`${sum(checked)} exchanges checked against the OpenAPI document, ${broken} with violations`);
printCounts(checked);
print('not checked, by reason:');
printCounts(skipped);
process.exitCode = broken === 0 && checked.size > 0 ? 0 : 1;
