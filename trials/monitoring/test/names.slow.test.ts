import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Alert } from '@crs/monitoring/alerts';
import { readExpression, readScrape, unknowns, type Known } from '@crs/monitoring/expressions';
import { DASHBOARDS } from '@crs/monitoring/generate';
import { queriesOf } from '@crs/monitoring/panels';
import { rules, type Recording } from '@crs/monitoring/rules';
import { PROCESS_NAMES, type ProcessName } from '@crs/testing/processes';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { readRunbooks, runCommand, runStatement } from '../runbooks.ts';
import { startScene, type SeparateProcess, type Scene } from '../scene.ts';

// Causes the faults that alerts are about in real processes. Rules, dashboards and runbooks may use only metrics and log lines that these have emitted.

const known: Known = new Map();
/** Whether jq is installed. Commands that need it are skipped otherwise. */
const hasJq = !spawnSync('jq', ['--version']).error;
let scene: Scene;
let secureRateLimit: SeparateProcess;
let traffic: ReturnType<Scene['traffic']>;

async function scrape(): Promise<void> {
  const names = [...PROCESS_NAMES, 'webhooks'] as const;
  const addresses = [...names.map((name) => scene.system.processes.ops(name)), secureRateLimit.ops];
  for (const address of addresses) {
    const response = await fetch(`http://${address}/metrics`).catch(() => undefined);
    if (response) readScrape(await response.text(), known);
  }
}

/** Waits until a source contains a text. */
const waitForText = (text: RegExp, read: () => Promise<string>) =>
  vi.waitFor(async () => {
    if (!text.test(await read())) throw new Error(`${text} did not appear`);
  }, 30_000);
const waitForLog = (name: string, text: RegExp) => waitForText(text, () => readFile(join(scene.logs, `${name}.log`), 'utf8'));
const waitForMetric = (name: ProcessName, text: RegExp) =>
  waitForText(text, async () => (await fetch(`http://${scene.system.processes.ops(name)}/metrics`)).text());

beforeAll(async () => {
  scene = await startScene();
  const { certificates, ...rateLimit } = await scene.startWithTls();
  secureRateLimit = rateLimit;
  await scene.startSeparately('calls', {
    CRS_ADMIN_LISTEN: '127.0.0.1:0',
    CRS_AUTH_ADDRESS: '127.0.0.1:9',
    DATABASE_URL: 'postgres://nobody@127.0.0.1:9/nothing',
  });
  const { processes, redis, relays } = scene.system;
  traffic = scene.traffic(4);
  await scene.exceedLimit();
  const stalled = scene.stallBody();
  await scene.guessOperator();
  await scene.importLines();
  await scene.importWhileFeedIsHeld();
  await scene.sendBurst();
  await scrape();
  await writeFile(join(certificates, 'tls.crt'), 'no certificate');
  // A missing table is a bug, so requests end with 500.
  await runStatement('alter table calls.calls rename to missing', scene.system.databaseUrl);
  await waitForLog('api-gateway', /"level":"error"/);
  await runStatement('alter table calls.missing rename to calls', scene.system.databaseUrl);
  if (redis) {
    await redis.kill();
    await waitForMetric('api-gateway', /^crs_ratelimit_failures_total\{/m);
    await waitForLog('rate-limit', /Redis is not available/);
  }
  await scrape();
  await processes.kill('rate-limit');
  await waitForMetric('api-gateway', /^crs_breaker_open\{.*target="rate-limit".*\} 1$/m);
  await stalled;
  // Done before PostgreSQL stops: without it, auth can't verify tokens, so no tool would be called.
  await processes.kill('calls');
  await waitForMetric('tool-gateway', /^crs_tool_call_duration_count\{.*http_response_status_code="50[34]"/m);
  await processes.start('calls');
  for (const relay of relays.get('postgres')!) await relay.close();
  await waitForMetric('api-gateway', /^http_server_request_duration_count\{.*http_response_status_code="50[34]"/m);
  await waitForMetric('auth', /^db_client_operation_duration_count\{.*error_type="(?:57P..|E[A-Z]+|disconnected)"/m);
  await scrape();
  for (const relay of relays.get('postgres')!) await relay.open();
  await redis?.start();
  await processes.start('rate-limit');
  await waitForMetric('rate-limit', /^crs_ratelimit_checks_total\{/m);
  await waitForLog('rate-limit-alone', /new certificates could not be used/);
}, 240_000);
afterAll(async () => {
  await traffic?.stop();
  await scene?.stop();
});

const recordingRules = new Map<string, string[]>();
const all = rules().groups.flatMap((group) => group.rules as (Recording | Alert)[]);
for (const rule of all) if ('record' in rule) recordingRules.set(rule.record, [...readExpression(rule.expr).grouped, 'slo']);
const labelsUsedIn = (text: string) => [...text.matchAll(/\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}/g)].map(([, label]) => label!);

/** Ignores problems with Redis metrics if redis-server is not installed. */
const problemsOf = (expression: string, labels: string[] = []) => {
  const problems = unknowns(expression, known, recordingRules, labels);
  return scene.system.redis ? problems : problems.filter((problem) => !/redis/.test(problem));
};

test('rules query only metrics that exist, and their annotations use only labels that exist', () => {
  const problems = all.flatMap((rule) => {
    const labels = 'alert' in rule ? labelsUsedIn(Object.values(rule.annotations).join(' ')) : [];
    return problemsOf(rule.expr, labels).map((problem) => `${'alert' in rule ? rule.alert : rule.record}: ${problem}`);
  });
  expect(problems).toEqual([]);
});

test.each(DASHBOARDS)('the dashboard $title queries only metrics that exist', (dashboard) => {
  const problems = queriesOf(dashboard).flatMap(({ panel, expr, legend }) =>
    problemsOf(expr, labelsUsedIn(legend)).map((problem) => `${panel}: ${problem}`),
  );
  expect(problems).toEqual([]);
});

// Needs the traffic to continue: some commands read counters that expire in Redis after a minute.
test.each(await readRunbooks())('each command and query of the runbook $name returns something', async (runbook) => {
  const problems = runbook.queries.flatMap((query) => problemsOf(query).map((problem) => `${query}: ${problem}`));
  for (const command of runbook.commands) {
    if (!scene.system.redis && /redis/i.test(command)) continue;
    if (!hasJq && /\bjq\b/.test(command)) continue;
    if ((await runCommand(command, scene))?.trim() === '') problems.push(`it finds nothing: ${command}`);
  }
  for (const statement of runbook.statements) {
    if ((await runStatement(statement, scene.system.databaseUrl)) === '') problems.push(`it finds nothing: ${statement}`);
  }
  expect(problems).toEqual([]);
});
