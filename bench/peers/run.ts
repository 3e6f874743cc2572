// Compares a list page, a record, the last page and the calls of a project with PostGraphile on the same rows.
//
//   node bench/peers/run.ts [--rows 100000] [--requests 2000] [--rounds 5]
//
// It installs PostGraphile into this folder, by npm, starts both systems itself and runs on Linux. PostGraphile asks as a superuser, so without tenants; it has neither keys nor
// limits nor telemetry. A tool answers for a project; it sends each page twice, as text and as data. Prints the CPU milliseconds of each round, and the ratio of the medians.
// pREST and PostgREST are no packages of npm, so they aren't compared.
import { execFile, spawn } from 'node:child_process';
import { parseArgs, promisify } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '@crs/crs/connection';
import { createKey, createToken } from '@crs/testing/credentials';
import { load } from '@crs/testing/load';
import { MCP_HEADERS, toolCall } from '@crs/testing/mcp';
import { freePorts } from '@crs/testing/ports';
import { OPERATOR_CREDENTIAL } from '@crs/testing/setup';
import pg from 'pg';
import { measure } from '../load.ts';
import { seedCalls } from '../seed.ts';
import { median } from '../statistics.ts';
import { startSystem } from '../system.ts';

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '100000' },
    requests: { type: 'string', default: '2000' },
    rounds: { type: 'string', default: '5' },
  },
});
const ROWS = Number(options.rows);
const REQUESTS = Number(options.requests);
const ROUNDS = Number(options.rounds);
const CONCURRENCY = 8;
const PAGE = 50;
const PROJECT = '11111111-2222-4333-8444-555555555555';
const EMAIL = 'ann@bench.example';
const BOUNDLESS = { requests: 1_000_000_000, period_seconds: 60 };
const NOW = new Date();
const DAYS = 1_000;
const HERE = import.meta.dirname;

const ITEM = `callId durationMinutes createdAt updatedAt date callType callStatus projectId segment source`;
const DETAIL = `${ITEM} rating cost name jobTitle employer country shown verbatim`;
const NEWEST = `orderBy: [CREATED_AT_DESC, CALL_ID_DESC]`;

async function startPostgraphile(databaseUrl: string) {
  await promisify(execFile)('npm', ['ci', '--no-audit', '--no-fund'], { cwd: HERE });
  const [port] = await freePorts(1);
  const args = [
    '--preset',
    'postgraphile/presets/amber',
    '--connection',
    databaseUrl,
    '--schema',
    'calls',
    '--port',
    String(port),
  ];
  const program = `${HERE}/node_modules/postgraphile/dist/cli-run.js`;
  const child = spawn(process.execPath, [program, ...args], {
    cwd: HERE,
    stdio: 'ignore',
    env: { ...process.env, GRAPHILE_ENV: 'production', NODE_ENV: 'production' },
  });
  const url = `http://127.0.0.1:${port}/graphql`;
  const ask = async (query: string) => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    });
    return (await response.json()) as { data?: Record<string, unknown>; errors?: unknown };
  };
  for (let tries = 0; !(await ask('{ __typename }').catch(() => undefined)); tries++) {
    if (tries === 100) throw new Error('PostGraphile does not answer.');
    await sleep(200);
  }
  return { url, ask, pid: child.pid!, stop: () => child.kill() };
}

const system = await startSystem();
const operator = connect({ addresses: system.admin, credential: OPERATOR_CREDENTIAL });
try {
  await load(operator, [
    { type: 'organization', id: 'bench', name: 'Bench', rate_limit: BOUNDLESS, tool_rate_limit: BOUNDLESS },
    { type: 'user', organization: 'bench', email: EMAIL, name: 'Ann' },
  ]);
  await seedCalls(system.databaseUrl, { organization: 'bench', rows: ROWS, before: NOW, days: DAYS, turns: 20 });
  const admin = new pg.Client({ connectionString: system.databaseUrl });
  await admin.connect();
  // A user sees the calls that they conducted.
  await admin.query(
    `update calls.calls set project_id = $1, conducted_by = (select user_id from auth.users where organization = 'bench')
      where call_type = 'meeting'`,
    [PROJECT],
  );
  await admin.query('vacuum analyze calls.calls');
  await admin.end();
  const rest = { authorization: `Bearer ${await createKey(operator, 'bench')}` };
  const tools = { ...MCP_HEADERS, authorization: `Bearer ${await createToken(operator, 'bench', EMAIL)}` };
  const peer = await startPostgraphile(system.databaseUrl);
  const peerPids = new Map([
    ['postgraphile', peer.pid],
    ['postgres', system.pids.get('postgres')!],
  ]);

  const range = `start_date=${new Date(NOW.getTime() - 2 * DAYS * 86_400_000).toISOString()}&end_date=${new Date(NOW.getTime() + 1).toISOString()}`;
  const list = (page: number) => ({ url: `${system.api}/v1/calls?${range}&page=${page}&per_page=${PAGE}`, headers: rest });
  const last = Math.ceil(ROWS / PAGE);
  const of = `condition: { organization: "bench" }`;
  const id = `call_${'7'.padStart(12, '0')}`;
  const ofProject = toolCall('list_calls', { project_id: PROJECT, limit: PAGE });
  const kinds = {
    'list page': [list(1), `{ allCalls(${of}, first: ${PAGE}, ${NEWEST}) { nodes { ${ITEM} } totalCount } }`],
    record: [
      { url: `${system.api}/v1/calls/${id}`, headers: rest },
      `{ callByOrganizationAndCallId(organization: "bench", callId: "${id}") { ${DETAIL} } }`,
    ],
    [`page ${last}`]: [
      list(last),
      `{ allCalls(${of}, first: ${PAGE}, offset: ${(last - 1) * PAGE}, ${NEWEST}) { nodes { ${ITEM} } totalCount } }`,
    ],
    'of a project': [
      { url: `http://${system.tools}/mcp`, headers: tools, body: JSON.stringify(ofProject) },
      `{ allCalls(condition: { organization: "bench", projectId: "${PROJECT}" }, first: ${PAGE}, ${NEWEST}) { nodes { ${ITEM} } } }`,
    ],
  } as const;
  for (const [kind, [ours, query]] of Object.entries(kinds)) {
    const { data, errors } = await peer.ask(query);
    if (!data || errors) throw new Error(`PostGraphile refuses the ${kind}: ${JSON.stringify(errors)}`);
    const requests = kind === `page ${last}` ? REQUESTS / 20 : REQUESTS;
    const used: { ours: number[]; theirs: number[] } = { ours: [], theirs: [] };
    // The first round fills caches and compiles.
    for (let round = 0; round <= ROUNDS; round++) {
      const body = JSON.stringify({ query });
      const theirs = await measure(
        peer.url,
        { 'content-type': 'application/json' },
        { requests, concurrency: CONCURRENCY, body },
        peerPids,
      );
      const { url, headers, ...sent } = ours;
      const mine = await measure(url, headers, { requests, concurrency: CONCURRENCY, ...sent }, system.pids);
      if (round === 0) continue;
      used.ours.push(mine.total);
      used.theirs.push(theirs.total);
    }
    const shown = (all: number[]) => all.map((each) => each.toFixed(2)).join(' ');
    console.log(
      `${kind.padEnd(12)} ours ${shown(used.ours)}  PostGraphile ${shown(used.theirs)}  ours to theirs ${(median(used.ours) / median(used.theirs)).toFixed(2)}`,
    );
  }
  peer.stop();
} finally {
  operator.close();
  await system.stop();
}
