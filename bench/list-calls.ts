// Compares a page of the list of calls with a baseline server: a plain Express + pg process with a page query and count(*).
//
//   node bench/list-calls.ts --floor BASELINE.mjs [--rows 1000000] [--requests 5000] [--rounds 5]
//
// Starts the system itself. BASELINE.mjs is a program with the commands `seed` and `serve`. It serves GET /calls?organization=... from its own table in the
// same database. Prints the CPU milliseconds of each process for a request, and the ratios with their goals.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { freePorts } from '@crs/testing/ports';
import { measure } from './load.ts';
import { printFigure, printResult, readOptions, repeat } from './report.ts';
import { seedCalls } from './seed.ts';
import { pidsWith, startPrinting } from './start-bare.ts';
import { bearer, createOrganization, startSystem, type System } from './system.ts';

const defaults = { floor: '', rows: 1_000_000, requests: 5_000, rounds: 5 };
const { floor: program, rows, requests, rounds } = readOptions(defaults);
if (program === '') {
  console.error('usage: node bench/list-calls.ts --floor BASELINE.mjs [--rows N] [--requests N] [--rounds N]');
  process.exit(2);
}
/** Organizations and their numbers of calls. */
const SIZES: [string, number][] = [
  ['small', 1_000],
  ['big', rows],
];
const CONCURRENCY = 16;
const DAYS = 1_000;
const NOW = new Date(Math.floor(Date.now() / 86_400_000) * 86_400_000 - 1);
const FROM = new Date(NOW.getTime() - DAYS * 86_400_000);

async function startBaseline(system: System) {
  const shared = ['--modules', import.meta.dirname, '--database', system.databaseUrl];
  for (const [organization, calls] of SIZES) {
    const sizes = ['--organization', organization, '--rows', String(calls), '--days', String(DAYS), '--from', NOW.toISOString()];
    await promisify(execFile)(process.execPath, [program, 'seed', ...shared, ...sizes]);
  }
  const [port] = await freePorts(1);
  const [child, line] = await startPrinting([program, 'serve', ...shared, '--port', String(port)]);
  const { url, pid } = JSON.parse(line) as { url: string; pid: number };
  return { url, pids: pidsWith(system, 'baseline', pid), stop: () => child.kill() };
}

const system = await startSystem();
try {
  const keys = new Map<string, string>();
  for (const [organization, calls] of SIZES) {
    keys.set(organization, (await createOrganization(system, organization)).key);
    await seedCalls(system, { organizations: [organization], rows: calls, before: NOW, days: DAYS });
  }
  const baseline = await startBaseline(system);
  const range = `start_date=${FROM.toISOString()}&end_date=${new Date(NOW.getTime() + 1).toISOString()}`;
  const sent = { requests, concurrency: CONCURRENCY };
  const ours = (organization: string, page: number) =>
    measure(`${system.api}/v1/calls?${range}&page=${page}`, bearer(keys.get(organization)!), sent, system.pids);
  const theirs = (organization: string, page: number, load = sent) =>
    measure(`${baseline.url}/calls?organization=${organization}&${range}&page=${page}`, {}, load, baseline.pids);

  const small = await repeat(rounds, async () => ({ theirs: await theirs('small', 1), ours: await ours('small', 1) }));
  for (const each of small) {
    printResult('baseline, 1,000 in range', each.theirs);
    printResult('ours, 1,000 in range', each.ours);
  }
  const last = Math.ceil(rows / 50);
  const deep = await repeat(rounds, async () => ({ first: await ours('big', 1), last: await ours('big', last) }));
  for (const each of deep) {
    printResult(`ours, page 1 of ${last}`, each.first);
    printResult(`ours, page ${last} of ${last}`, each.last);
  }
  const baselineDeep = await theirs('big', last, { requests: 40, concurrency: 2 });
  printResult(`baseline, page ${last} of ${last}`, baselineDeep);
  baseline.stop();

  const ratios = small.map((each) => each.ours.total / each.theirs.total);
  printFigure('\nCPU of a page of 1,000 calls, whole system to baseline server', ratios, { atMost: 1.5 });
  const cpu = deep.map((each) => each.last.total / each.first.total);
  printFigure(`CPU of the last page to page 1, of ${rows} calls`, cpu, { atMost: 2 });
  const p50 = deep.map((each) => each.last.p50 / each.first.p50);
  printFigure(`p50 of the last page to page 1, of ${rows} calls`, p50, { atMost: 2 });
  const toBaseline = deep.map((each) => each.last.total / baselineDeep.total);
  printFigure('CPU of the last page, whole system to baseline server', toBaseline, { atMost: 0.05 });
} finally {
  await system.stop();
}
