// Moves organizations' rows between Citus nodes under load (reads, imports, change feeds), and checks afterwards that none is lost or outdated:
//
//   node trials/citus/move.ts COORDINATOR_URL
//
// Starts the system on its own database, isolates an organization, drains a worker, removes it, adds it again, and rebalances the rows.
import { setTimeout as sleep } from 'node:timers/promises';
import { run } from '@crs/crs/import';
import { retrying } from '@crs/crs/retry';
import { sender } from '@crs/crs/send';
import { Follower } from '../changes/follower.ts';
import { readDetails } from '../changes/rounds.ts';
import { startSystem, type Sample } from './system.ts';

/** The organizations with imports and followers. All others only read. */
const BUSY = 6;
const CALLS = 100;

const [url] = process.argv.slice(2);
if (url === undefined) throw new Error('Name the URL of the coordinator.');
const say = (line: string) => void process.stdout.write(`${line}\n`);

const system = await startSystem(url, 5);

const samples: Sample[] = [];
const refused: string[] = [];
const stopReading = system.read((response) => samples.push(response));
const busy = system.organizations.slice(0, BUSY).map((organization) => {
  const send = async (path: string) => {
    const sentAt = performance.now();
    const response = await system.send(organization, path);
    samples.push({ organization, at: sentAt, ms: performance.now() - sentAt, status: response.status });
    return response;
  };
  return { organization, send, follower: new Follower({ limit: 7, details: true }, send), stored: new Map<string, string>() };
});
let isOver = false;
let step = 'begin';
let imports = 0;
let longestImport = 0;
// Sends imports with the retries of `crs import`.
const send = retrying(sender(system.operator));
async function* bytesOf(records: object[]): AsyncGenerator<Buffer> {
  for (const record of records) yield Buffer.from(`${JSON.stringify(record)}\n`);
}
const writers = busy.map(async ({ organization, stored }) => {
  while (!isOver) {
    const started = performance.now();
    const batch = new Map(
      Array.from({ length: 5 }, () => [`moved-${Math.floor(Math.random() * CALLS)}`, `Summary ${Math.random()}`]),
    );
    const records = [...batch].map(([id, summary]) => ({
      type: 'call',
      organization,
      id,
      created_at: '2026-01-02T00:00:00Z',
      summary,
    }));
    try {
      await run(bytesOf(records), send, {
        progress: () => {},
        refused: ({ reason }) => refused.push(`${organization}: ${reason}`),
      });
      imports++;
      for (const [id, summary] of batch) stored.set(id, summary);
    } catch (error) {
      refused.push(`${step}: ${organization}: ${String((error as Error).cause ?? error)}`);
    }
    longestImport = Math.max(longestImport, performance.now() - started);
    await sleep(100);
  }
});
for (const { follower } of busy) follower.start();
await sleep(3_000);

const { rows: workers } = await system.admin.query<{ host: string; port: number }>(
  'select nodename as host, nodeport as port from pg_dist_node where shouldhaveshards and groupid > 0 order by groupid',
);
const last = workers.at(-1)!;
const node = [last.host, last.port];
const STEPS: [name: string, text: string, values?: unknown[]][] = [
  // Writes are paused, because a split concurrent with updates may hang: citusdata/citus#6790.
  ['isolate', `select isolate_tenant_to_new_shard('calls.calls', 'org-0'::text, 'CASCADE', 'block_writes')`],
  ['drain', 'select citus_drain_node($1::text, $2::int)', node],
  // A move leaves old shards on the node, which Citus deletes later. It doesn't remove a node that still has shards.
  ['clean', 'call citus_cleanup_orphaned_resources()'],
  ['remove', 'select citus_remove_node($1::text, $2::int)', node],
  ['add', 'select citus_add_node($1::text, $2::int)', node],
  ['rebalance', 'select rebalance_table_shards()'],
];
for (const [name, text, values] of STEPS) {
  step = name;
  const [from, started] = [samples.length, performance.now()];
  await system.admin.query(text, values);
  const ended = performance.now();
  await sleep(1_000);
  const duringStep = samples.slice(from);
  const failed = duringStep.filter(({ status }) => status !== 200).length;
  const longest = Math.max(...duringStep.map(({ ms }) => ms)).toFixed(0);
  say(
    `${name}: ${((ended - started) / 1000).toFixed(1)} s, ${failed} of ${duringStep.length} requests failed, longest ${longest} ms`,
  );
}
const { rows: placed } = await system.admin.query<{ port: number; shards: string }>(
  `select nodeport as port, count(*) as shards from citus_shards where table_name = 'calls.calls'::regclass group by 1 order by 1`,
);
say(`shards of calls on the workers: ${placed.map(({ shards }) => shards).join(', ')}`);

await sleep(2_000);
isOver = true;
await Promise.all(writers);
await stopReading();
const faults: string[] = [...refused];
for (const { organization, send, follower, stored } of busy) {
  await follower.finish();
  const details = await readDetails(send);
  for (const fault of [...follower.faults, ...follower.compare(details)]) faults.push(`${organization}: ${fault}`);
  for (const [id, summary] of stored) {
    const detail = details.get(id);
    if (detail === undefined) faults.push(`${organization}: ${id} is lost`);
    else if (!detail.includes(summary)) faults.push(`${organization}: ${id} doesn't have its last summary`);
  }
  const { rows } = await system.admin.query<{ count: string }>(
    'select count(*) as count from calls.calls where organization = $1',
    [organization],
  );
  if (Number(rows[0]!.count) !== details.size) faults.push(`${organization}: ${rows[0]!.count} rows, ${details.size} calls`);
}
const pages = busy.reduce((sum, { follower }) => sum + follower.pages, 0);
say(`${imports} imports, ${refused.length} refused, longest ${longestImport.toFixed(0)} ms; ${pages} pages of changes`);
say(`${faults.length} faults`);
for (const fault of faults.slice(0, 20)) say(`  ${fault}`);
await system.stop();
process.exitCode = faults.length === 0 ? 0 : 1;
