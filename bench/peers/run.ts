// Compares a list page, a record, the last page and the calls of a project with PostGraphile on the same rows.
//
//   node bench/peers/run.ts [--rows 100000] [--requests 2000] [--rounds 5]
//
// Installs PostGraphile into this folder with npm, and starts both systems itself. Linux only. PostGraphile connects as a superuser, so without row-level
// security, and has neither keys nor limits nor telemetry. The calls of a project are read by a tool, which sends each page twice, as text and as data. Prints
// the CPU milliseconds of each round, and the ratio of the medians. pREST and PostgREST aren't compared, because npm doesn't have them.
import { execFile, spawn } from 'node:child_process';
import { promisify } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { MCP_HEADERS, toolCall } from '@crs/testing/mcp';
import { freePorts } from '@crs/testing/ports';
import pg from 'pg';
import { measure } from '../load.ts';
import { median, readOptions, repeat } from '../report.ts';
import { seedCalls, seededId } from '../seed.ts';
import { pidsWith } from '../start-bare.ts';
import { bearer, createOrganization, startSystem } from '../system.ts';

const { rows, requests, rounds } = readOptions({ rows: 100_000, requests: 2_000, rounds: 5 });
const CONCURRENCY = 8;
const PAGE = 50;
const PROJECT = '11111111-2222-4333-8444-555555555555';
const NOW = new Date();
const DAYS = 1_000;
const HERE = import.meta.dirname;

const ITEM = `callId durationMinutes createdAt updatedAt date callType callStatus projectId segment source`;
const DETAIL = `${ITEM} rating cost name jobTitle employer country detailJson verbatim`;
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
  const run = async (query: string) => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    });
    return (await response.json()) as { data?: Record<string, unknown>; errors?: unknown };
  };
  for (let tries = 0; !(await run('{ __typename }').catch(() => undefined)); tries++) {
    if (tries === 100) throw new Error('PostGraphile does not respond.');
    await sleep(200);
  }
  return { url, run, pid: child.pid!, stop: () => child.kill() };
}

const system = await startSystem();
try {
  const { key, token } = await createOrganization(system, 'bench');
  await seedCalls(system, { organizations: ['bench'], rows, before: NOW, days: DAYS, turns: 20 });
  const admin = new pg.Client({ connectionString: system.databaseUrl });
  await admin.connect();
  await admin.query(`update calls.calls set project_id = $1 where right(call_id, 1) in ('0', '5')`, [PROJECT]);
  await admin.query('vacuum analyze calls.calls');
  await admin.end();
  const [rest, tools] = [bearer(key), { ...MCP_HEADERS, ...bearer(token) }];
  const peer = await startPostgraphile(system.databaseUrl);
  const peerPids = pidsWith(system, 'postgraphile', peer.pid);

  const range = `start_date=${new Date(NOW.getTime() - 2 * DAYS * 86_400_000).toISOString()}&end_date=${new Date(NOW.getTime() + 1).toISOString()}`;
  const list = (page: number) => ({ url: `${system.api}/v1/calls?${range}&page=${page}&per_page=${PAGE}`, headers: rest });
  const last = Math.ceil(rows / PAGE);
  const of = `condition: { organization: "bench" }`;
  const id = seededId(7);
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
    const { data, errors } = await peer.run(query);
    if (!data || errors) throw new Error(`PostGraphile refuses the ${kind}: ${JSON.stringify(errors)}`);
    const sent = { requests: kind === `page ${last}` ? requests / 20 : requests, concurrency: CONCURRENCY };
    const { url, headers, ...body } = ours;
    const load = { ...sent, body: JSON.stringify({ query }) };
    const results = await repeat(rounds, async () => ({
      theirs: (await measure(peer.url, { 'content-type': 'application/json' }, load, peerPids)).total,
      ours: (await measure(url, headers, { ...sent, ...body }, system.pids)).total,
    }));
    const [own, others] = [results.map((each) => each.ours), results.map((each) => each.theirs)];
    const show = (all: number[]) => all.map((each) => each.toFixed(2)).join(' ');
    const ratio = (median(own) / median(others)).toFixed(2);
    console.log(`${kind.padEnd(12)} ours ${show(own)}  PostGraphile ${show(others)}  ours to theirs ${ratio}`);
  }
  peer.stop();
} finally {
  await system.stop();
}
