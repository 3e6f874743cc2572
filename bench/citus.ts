// Measures the CPU time of requests on Citus, by part: the coordinator, the workers and the services; or on plain PostgreSQL.
//
//   node bench/citus.ts [COORDINATOR_URL] [--rows 100000] [--requests 500] [--rounds 3]
//
// The URL names an empty database on Linux, as superuser, with all nodes on this machine (`trials/citus/cluster BUILD DATA start`). Without it, it
// measures plain PostgreSQL.
import { parseArgs } from 'node:util';
import { connect } from '@crs/crs/connection';
import { createKey } from '@crs/testing/credentials';
import { load } from '@crs/testing/load';
import { OPERATOR_CREDENTIAL } from '@crs/testing/setup';
import pg from 'pg';
import { measure, type Result } from './load.ts';
import { seedCalls, seedFeed } from './seed.ts';
import { median } from './statistics.ts';
import { startSystem } from './system.ts';

const { values: options, positionals } = parseArgs({
  options: {
    rows: { type: 'string', default: '100000' },
    requests: { type: 'string', default: '500' },
    rounds: { type: 'string', default: '3' },
  },
  allowPositionals: true,
});
const [url] = positionals;
const DATABASES = ['postgres', 'coordinator', 'worker1', 'worker2'];
const RANGE = 'start_date=2000-01-01T00:00:00Z&end_date=2100-01-01T00:00:00Z';
const REQUESTS: Record<string, string> = {
  'first page of the list': `/v1/calls?${RANGE}`,
  'page 60 of the list': `/v1/calls?${RANGE}&page=60`,
  'a detail': '/v1/calls/call_000000000007',
  'a page of 50 changes': '/v1/changes?limit=50',
};

async function rowsOf<Row extends object>(database: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: database });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

/** The process ids of all nodes, the coordinator first. */
async function pidsOf(coordinator: string): Promise<[string, number][]> {
  const nodes = await rowsOf<{ host: string; port: number }>(
    coordinator,
    'select nodename as host, nodeport as port from pg_dist_node order by groupid',
  );
  return Promise.all(
    nodes.map(async ({ host, port }, i) => {
      const node = new URL(coordinator);
      node.host = `${host}:${port}`;
      const [row] = await rowsOf<{ pid: string }>(
        node.href,
        `select split_part(pg_read_file('postmaster.pid'), E'\\n', 1) as pid`,
      );
      return [DATABASES[i + 1]!, Number(row!.pid)];
    }),
  );
}

const nodes = url === undefined ? [] : await pidsOf(url);
const system = await startSystem({}, url === undefined ? undefined : { url, pid: nodes[0]![1], stop: async () => {} });
if (nodes.length > 0) system.pids.delete('postgres');
for (const [name, pid] of nodes) system.pids.set(name, pid);
try {
  const operator = connect({ addresses: system.admin, credential: OPERATOR_CREDENTIAL });
  await load(operator, [
    { type: 'organization', id: 'big', name: 'Big', rate_limit: { requests: 1_000_000_000, period_seconds: 60 } },
  ]);
  const headers = { authorization: `Bearer ${await createKey(operator, 'big')}` };
  operator.close();
  await seedCalls(system.databaseUrl, { organization: 'big', rows: Number(options.rows), before: new Date(), days: 1_000 });
  await seedFeed(system.databaseUrl, 'big');
  for (const [name, path] of Object.entries(REQUESTS)) {
    const asked = { requests: Number(options.requests), concurrency: 8 };
    await measure(`${system.api}${path}`, headers, asked, system.pids);
    const rounds: Result[] = [];
    for (let round = 0; round < Number(options.rounds); round++) {
      rounds.push(await measure(`${system.api}${path}`, headers, asked, system.pids));
    }
    const parts = [...system.pids.keys()].map((part) => [part, median(rounds.map(({ cpu }) => cpu.get(part)!))] as const);
    const database = parts.filter(([part]) => DATABASES.includes(part)).reduce((sum, [, cpu]) => sum + cpu, 0);
    const shown = parts.filter(([, cpu]) => cpu >= 0.01).map(([part, cpu]) => `${part} ${cpu.toFixed(2)}`);
    console.log(
      `${name}: p50 ${median(rounds.map(({ p50 }) => p50)).toFixed(1)} ms, database ${database.toFixed(2)} ms (${shown.join('  ')})`,
    );
  }
} finally {
  await system.stop();
}
