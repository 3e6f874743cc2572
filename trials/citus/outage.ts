// Takes down a worker of Citus while organizations on it and on other nodes are read, and counts the failed requests of both groups:
//
//   node trials/citus/outage.ts COORDINATOR_URL WORKER_DATA [kill|pause|slow]...
//
// Creates a database on the coordinator and starts the system on it. WORKER_DATA is the data directory of one worker. For 12 s, the worker is down (`kill`), suspended (`pause`), or
// suspended for 300 ms of every 500 (`slow`).
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { childrenOf } from '@crs/testing/proc';
import { startSystem, type Sample } from './system.ts';

const OUTAGE_MS = 12_000;

const [url, workerData, ...faults] = process.argv.slice(2);
if (url === undefined || workerData === undefined)
  throw new Error('Name the URL of the coordinator and the data directory of a worker.');
const say = (line: string) => void process.stdout.write(`${line}\n`);

const CALLS_OF_EACH_ORGANIZATION = 5;
const system = await startSystem(url, CALLS_OF_EACH_ORGANIZATION);

/** Returns the worker's port and the id of its main process, which changes with a restart. */
function readPid(): [pid: number, port: number] {
  const [pid, , , port] = readFileSync(`${workerData}/postmaster.pid`, 'utf8').split('\n');
  return [Number(pid), Number(port)];
}
const [firstPid, workerPort] = readPid();
const { rows } = await system.admin.query<{ id: string; port: number }>(
  `select id, nodeport as port from unnest($1::text[]) id
    join pg_dist_shard_placement on shardid = get_shard_id_for_distribution_column('calls.calls', id)`,
  [system.organizations],
);
const onWorker = new Set(rows.filter(({ port }) => port === workerPort).map(({ id }) => id));
say(`${onWorker.size} of ${system.organizations.length} organizations are on the worker`);

const signal = (name: NodeJS.Signals) => {
  const [pid] = readPid();
  for (const each of [pid, ...childrenOf(pid)]) {
    try {
      process.kill(each, name);
    } catch {
      // The process has already ended.
    }
  }
};
const bin = (readFileSync(`/proc/${firstPid}/cmdline`, 'utf8').split('\0')[0] ?? '').replace(/postgres$/, '');
const owner = execFileSync('stat', ['-c', '%u:%g', workerData], { encoding: 'utf8' }).trim().split(':').map(Number);
const restart = () =>
  spawnSync(`${bin}pg_ctl`, ['-D', workerData, '-l', `${workerData}.log`, '-w', 'start'], {
    uid: owner[0],
    gid: owner[1],
    stdio: 'ignore',
    // Nodes look for their certificates in this home directory when they connect to each other.
    env: { ...process.env, HOME: '/tmp' },
  });
const FAULTS: Record<string, [begin: () => void, end: () => void]> = {
  kill: [() => signal('SIGKILL'), restart],
  pause: [() => signal('SIGSTOP'), () => signal('SIGCONT')],
  slow: [() => void slow(), () => (isSlow = false)],
};
let isSlow = false;
/** Lets the worker run for only 200 ms of every 500. */
async function slow(): Promise<void> {
  for (isSlow = true; isSlow;) {
    signal('SIGSTOP');
    await sleep(300);
    signal('SIGCONT');
    await sleep(200);
  }
}

let samples: Sample[] = [];
const stop = system.read((response) => samples.push(response));
await sleep(5_000);
for (const fault of faults.length > 0 ? faults : ['kill']) {
  const [begin, end] = FAULTS[fault]!;
  samples = [];
  begin();
  await sleep(OUTAGE_MS);
  end();
  const endedAt = performance.now();
  await sleep(8_000);
  const samplesOf = (isOnWorker: boolean) => samples.filter(({ organization }) => onWorker.has(organization) === isOnWorker);
  const failed = (list: Sample[]) => list.filter(({ status }) => status !== 200);
  const elsewhere = samplesOf(false);
  const last = Math.max(endedAt, ...failed(samplesOf(true)).map(({ at, ms }) => at + ms));
  say(
    `${fault}: elsewhere ${failed(elsewhere).length} of ${elsewhere.length} failed, longest ${Math.max(...elsewhere.map(({ ms }) => ms)).toFixed(0)} ms;` +
      ` on the worker ${failed(samplesOf(true)).length} of ${samplesOf(true).length}, the last ${(last - endedAt).toFixed(0)} ms after its return`,
  );
  const kinds = Map.groupBy(
    failed(samples),
    ({ organization, status }) => `${onWorker.has(organization) ? 'on the worker' : 'elsewhere'} ${status}`,
  );
  for (const [kind, all] of kinds) say(`  ${kind}: ${all.length}`);
}
await stop();
await system.stop();
