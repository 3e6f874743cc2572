/**
 * Runs the scenarios of the official conformance suite that apply to a server with only four tools. Excludes scenarios that need the suite's own `test_*`
 * tools, prompts or resources, and scenarios that would pass here without testing anything (`tools-call-*`, `server-sse-*`, `server-session-lifecycle`).
 */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runBin } from './clients.ts';

const { MCP_URL: url, MCP_TOKEN: token } = process.env;
assert(url && token, 'usage: MCP_URL=URL MCP_TOKEN=TOKEN conformance.ts');

/** Scenarios that must pass completely, by protocol version. */
const WHOLE = {
  '2025-11-25': ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection'],
  '2026-07-28': ['tools-list', 'dns-rebinding-protection', 'http-header-validation', 'input-required-result-unsupported-methods'],
};

/** Scenarios of 2026-07-28, with the checks that must pass. Their other checks need features that this server lacks. */
const NAMED = {
  caching: ['sep-2549-tools-list-caching-hints', 'sep-2549-ttl-non-negative', 'sep-2549-cache-scope-valid', 'wire-schema-valid'],
  'server-stateless': [
    'request-meta-invalid-missing-meta',
    'request-meta-invalid-missing-protocol-version',
    'request-meta-invalid-missing-client-capabilities',
    'request-meta-client-info-optional',
    'http-server-meta-invalid-400',
    'server-implements-discover',
    'server-identifies-in-result-meta',
    'discover-capabilities-match-handlers',
    'server-unsupported-version-error',
    'http-server-unsupported-version-400',
    'http-server-header-mismatch-400',
    'http-server-method-not-found-404',
    'http-server-method-not-found-404-initialize',
    'http-server-method-not-found-404-ping',
    'http-server-method-not-found-404-logging-setlevel',
    'http-server-method-not-found-404-resources-subscribe',
    'http-server-method-not-found-404-resources-unsubscribe',
    'http-server-error-jsonrpc-id',
    'server-sends-subscription-ack',
    'server-tags-subscription-id',
    'server-honors-notification-filter',
  ].map((name) => `sep-2575-${name}`),
};

export interface Check {
  id: string;
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  errorMessage?: string;
}

const proxy = createServer(forward).listen(0, 'localhost');
await new Promise((resolve) => proxy.once('listening', resolve));
const signedIn = `http://localhost:${(proxy.address() as AddressInfo).port}/mcp`;
let failures = 0;
for (const [version, scenarios] of Object.entries(WHOLE)) {
  for (const scenario of scenarios) {
    const { code, checks } = await run(scenario, version);
    // A scenario that ran no checks would also pass.
    const tried = checks.some(({ id, status }) => status === 'SUCCESS' && id !== 'wire-schema-valid');
    report(scenario, version, checks, code === 0 && tried ? [] : [`exit code ${code}`, ...checks.filter(isBad).map(describe)]);
  }
}
for (const [scenario, names] of Object.entries(NAMED)) {
  const { checks } = await run(scenario, '2026-07-28');
  const missing = names.filter((name) => !checks.some(({ id }) => id === name)).map((name) => `${name}: absent`);
  const bad = checks.filter(({ id, status }) => names.includes(id) && status !== 'SUCCESS').map(describe);
  const counted = checks.filter(({ id }) => names.includes(id));
  report(scenario, '2026-07-28', counted, [...missing, ...bad]);
}
proxy.close();
process.exitCode = failures === 0 ? 0 : 1;

async function run(scenario: string, version: string): Promise<{ code: number; checks: Check[] }> {
  const output = await mkdtemp(join(tmpdir(), 'conformance-'));
  const args = ['server', '--url', signedIn, '--scenario', scenario, '--spec-version', version, '-o', output];
  const { code } = await runBin('conformance', args);
  const [directory] = await readdir(output);
  const checks = directory === undefined ? [] : JSON.parse(await readFile(join(output, directory, 'checks.json'), 'utf8'));
  return { code, checks: checks as Check[] };
}

function report(scenario: string, version: string, checks: Check[], problems: string[]): void {
  const succeeded = checks.filter(({ status }) => status === 'SUCCESS').length;
  process.stdout.write(
    `  ${version} ${scenario}: ${succeeded} checks${problems.map((problem) => `\n    ${problem}`).join('')}\n`,
  );
  if (problems.length > 0) failures += 1;
}

function isBad({ status }: Check): boolean {
  return status === 'FAILURE' || status === 'WARNING';
}

function describe({ id, status, errorMessage }: Check): string {
  return `${id}: ${status} ${errorMessage ?? ''}`;
}

/**
 * A proxy that adds the token, because the suite has no option for headers. Forwards all other headers, including `Host` and `Origin`, which the gateway
 * must check. If these name this proxy, they are replaced by the gateway's public address.
 */
function forward(incoming: IncomingMessage, outgoing: ServerResponse): void {
  const [here, there] = [new URL(signedIn), new URL(url!)];
  const { method, headers } = incoming;
  const { host, origin } = headers;
  const named = {
    ...headers,
    ...(host === here.host && { host: there.host }),
    ...(origin === here.origin && { origin: there.origin }),
    authorization: `Bearer ${token}`,
  };
  const onward = request(there, { method, headers: named }, (response) => {
    outgoing.writeHead(response.statusCode!, response.headers);
    response.pipe(outgoing);
  });
  onward.on('error', () => outgoing.destroy());
  incoming.pipe(onward);
}
