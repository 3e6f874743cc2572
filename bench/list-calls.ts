// Measures a page of the list of calls against a floor: a plain Express + pg process with a page query and count(*).
//
//   node bench/list-calls.ts --floor FLOOR.mjs [--rows 1000000] [--requests 5000] [--rounds 5] [--otlp]
//
// It starts the system itself. FLOOR.mjs is a program with the commands `seed` and `serve`, which answers GET /calls?organization=... from a table of its own
// in the same database. With --otlp the services also export traces. Prints the CPU milliseconds of each process for a request, and the promised ratios.
import { execFile, spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { connect } from '@crs/crs/connection';
import { createKey } from '@crs/testing/credentials';
import { load } from '@crs/testing/load';
import { freePorts } from '@crs/testing/ports';
import { OPERATOR_CREDENTIAL } from '@crs/testing/setup';
import { measure, type Result } from './load.ts';
import { seedCalls } from './seed.ts';
import { median } from './statistics.ts';
import { startSystem, type System } from './system.ts';

const { values: options } = parseArgs({
  options: {
    floor: { type: 'string' },
    rows: { type: 'string', default: '1000000' },
    requests: { type: 'string', default: '5000' },
    rounds: { type: 'string', default: '5' },
    otlp: { type: 'boolean', default: false },
  },
});
if (!options.floor) {
  console.error('usage: node bench/list-calls.ts --floor FLOOR.mjs [--rows N] [--requests N] [--rounds N] [--otlp]');
  process.exit(2);
}
const FLOOR = options.floor;
const HERE = dirname(fileURLToPath(import.meta.url));
const ROWS = Number(options.rows);
const REQUESTS = Number(options.requests);
const ROUNDS = Number(options.rounds);
/** Organizations and their numbers of calls. */
const SIZES: [string, number][] = [
  ['small', 1_000],
  ['big', ROWS],
];
const CONCURRENCY = 16;
const BOUNDLESS = { requests: 1_000_000_000, period_seconds: 60 };
const DAYS = 1_000;
const NOW = new Date(Math.floor(Date.now() / 86_400_000) * 86_400_000 - 1);
const FROM = new Date(NOW.getTime() - DAYS * 86_400_000);

async function startFloor(system: System): Promise<{ url: string; pid: number; stop(): void }> {
  const shared = ['--modules', HERE, '--database', system.databaseUrl];
  for (const [organization, rows] of SIZES) {
    const sizes = ['--organization', organization, '--rows', String(rows), '--days', String(DAYS), '--from', NOW.toISOString()];
    await promisify(execFile)(process.execPath, [FLOOR, 'seed', ...shared, ...sizes]);
  }
  const [port] = await freePorts(1);
  const child = spawn(process.execPath, [FLOOR, 'serve', ...shared, '--port', String(port)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const line = await new Promise<string>((resolve) => createInterface({ input: child.stdout }).once('line', resolve));
  const { url, pid } = JSON.parse(line) as { url: string; pid: number };
  return { url, pid, stop: () => child.kill('SIGTERM') };
}

function print(name: string, { p50, p99, cpu, total }: Result): void {
  const parts = [...cpu].map(([process, value]) => `${process} ${value.toFixed(3)}`).join('  ');
  console.log(
    `${name.padEnd(34)} p50 ${p50.toFixed(1).padStart(7)} ms  p99 ${p99.toFixed(1).padStart(7)} ms  CPU ${total.toFixed(3)} ms/request  (${parts})`,
  );
}

const sink = createServer((request, response) => request.resume().on('end', () => response.end()));
await new Promise<void>((resolve) => sink.listen(0, '127.0.0.1', resolve));
const sinkUrl = `http://127.0.0.1:${(sink.address() as { port: number }).port}`;
const system = await startSystem(options.otlp ? { OTEL_EXPORTER_OTLP_ENDPOINT: sinkUrl } : {});
try {
  const operator = connect({ addresses: system.admin, credential: OPERATOR_CREDENTIAL });
  const keys = new Map<string, string>();
  for (const [organization] of SIZES) {
    await load(operator, [{ type: 'organization', id: organization, name: organization, rate_limit: BOUNDLESS }]);
    keys.set(organization, await createKey(operator, organization));
  }
  operator.close();
  for (const [organization, rows] of SIZES) {
    await seedCalls(system.databaseUrl, { organization, rows, before: NOW, days: DAYS });
  }
  const floor = await startFloor(system);
  const floorPids = new Map([
    ['floor', floor.pid],
    ['postgres', system.pids.get('postgres')!],
  ]);

  const range = `start_date=${FROM.toISOString()}&end_date=${new Date(NOW.getTime() + 1).toISOString()}`;
  const ours = (organization: string, page: number, requests: number) =>
    measure(
      `${system.api}/v1/calls?${range}&page=${page}`,
      { authorization: `Bearer ${keys.get(organization)}` },
      { requests, concurrency: CONCURRENCY },
      system.pids,
    );
  const theirs = (organization: string, page: number, requests: number, concurrency = CONCURRENCY) =>
    measure(`${floor.url}/calls?organization=${organization}&${range}&page=${page}`, {}, { requests, concurrency }, floorPids);

  const last = Math.ceil(ROWS / 50);
  await ours('big', 1, 500);
  await ours('big', last, 500);

  const small: number[] = [];
  // The first round fills caches and compiles.
  for (let round = 0; round <= ROUNDS; round++) {
    const floorSmall = await theirs('small', 1, REQUESTS);
    const oursSmall = await ours('small', 1, REQUESTS);
    if (round === 0) continue;
    print('floor, 1,000 in range', floorSmall);
    print('ours, 1,000 in range', oursSmall);
    small.push(oursSmall.total / floorSmall.total);
  }
  const first = await ours('big', 1, REQUESTS);
  const deep = await ours('big', last, REQUESTS);
  const floorDeep = await theirs('big', last, 40, 2);
  print(`ours, page 1 of ${last}`, first);
  print(`ours, page ${last} of ${last}`, deep);
  print(`floor, page ${last} of ${last}`, floorDeep);
  floor.stop();

  console.log(
    `\nCPU of a page of 1,000 calls, whole system to floor: ${median(small).toFixed(2)} (at most 1.5; rounds ${small.map((r) => r.toFixed(2)).join(', ')})`,
  );
  console.log(
    `last page to page 1, of ${ROWS} calls: CPU ${(deep.total / first.total).toFixed(2)}, p50 ${(deep.p50 / first.p50).toFixed(2)} (at most 2)`,
  );
  console.log(`CPU of the last page, whole system to floor: ${(deep.total / floorDeep.total).toFixed(4)} (at most 0.05)`);
} finally {
  await system.stop();
  sink.close();
}
