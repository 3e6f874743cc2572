// Tests recovery from a base backup and archived WAL, after a mistake and after a loss of the database server.
//
//   node trials/recovery/main.ts [--calls 2000]
//
// 1. Point-in-time recovery: an organization is deleted by mistake, and then PostgreSQL loses all its data. Restores it to the moment before the deletion by
//    the steps of docs/runbooks/restore.md. Every call must be as before, and cursors from before must be refused. Prints the recovery time (RTO).
// 2. Crash: PostgreSQL loses its data during imports. Restores what the archive has, and prints how many of the last imports are lost (RPO).
//
// `--calls` is the number of calls per organization. Exits with 1 if a check fails.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { prepareDatabase } from '@crs/local/stack';
import { createKey } from '@crs/testing/credentials';
import { erase } from '@crs/testing/erase';
import { load } from '@crs/testing/load';
import { OPERATOR_CREDENTIAL, SECRET } from '@crs/testing/setup';
import { Follower } from '../changes/follower.ts';
import { startOn } from '../citus/system.ts';
import { readCursorStatements } from './runbook.ts';
import { ARCHIVE_TIMEOUT_S, ArchivingServer } from './server.ts';

const { values: options } = parseArgs({ options: { calls: { type: 'string', default: '2000' } } });
const CALLS = Number(options.calls);
/** The trial deletes the first one by mistake. */
const ORGANIZATIONS = ['deleted', 'other'];
const LIMIT = { requests: 1_000_000, period_seconds: 60 };

const print = (line: string) => process.stdout.write(`${line}\n`);
const check = (statement: string, holds: boolean) => {
  print(`${holds ? 'yes' : 'NO '}  ${statement}`);
  if (!holds) process.exitCode = 1;
};
const secondsSince = (started: number) => `${((performance.now() - started) / 1000).toFixed(1)} s`;

const keys = new Map<string, string>();
const home = await mkdtemp(join(tmpdir(), 'crs-recovery-'));
const server = new ArchivingServer(home);
try {
  await server.create();
  await prepare();
  await recoverToPointInTime();
  await recoverFromCrash();
} finally {
  await server.stop();
  await rm(home, { recursive: true, force: true });
}

/** Restores both organizations to the moment before one of them was deleted. */
async function recoverToPointInTime(): Promise<void> {
  let system = await startOn(server.url);
  for (const id of ORGANIZATIONS) {
    await load(system.operator, [{ type: 'organization', id, name: id, rate_limit: LIMIT }, ...callsOf(id, 0, CALLS / 2)]);
    keys.set(id, await createKey(system.operator, id));
  }
  await server.backUp();
  // Half of the calls are in the backup, the others only in the WAL.
  for (const id of ORGANIZATIONS) await load(system.operator, callsOf(id, CALLS / 2, CALLS));
  const mirrors = new Map<string, Follower>();
  for (const id of ORGANIZATIONS) mirrors.set(id, await follow(system.api, id));
  const [target] = await server.query<{ now: string }>('select clock_timestamp()::text as now');
  // The deletion must be clearly later than the recovery target.
  await sleep(1_000);
  await erase(system.operator, 'deleted', { $case: 'organization', value: true });
  await load(system.operator, callsOf('other', CALLS, CALLS + 10));
  await server.archived();
  await system.stop();
  await server.lose();

  const started = performance.now();
  await server.restore({ recovery_target_time: target!.now });
  print(`base backup and WAL restored: ${secondsSince(started)}`);
  for (const statement of await readCursorStatements()) await server.query(statement);
  // The runbook then runs the installation again, before the services start.
  await prepare();
  system = await startOn(server.url);
  const { status } = await get(system.api, 'deleted', '/v1/calls/call_0');
  print(`${CALLS * 2} calls: first request served after ${secondsSince(started)} (RTO)`);
  check('the key of the organization that was deleted works again', status === 200);
  for (const id of ORGANIZATIONS) {
    const { cursor, copy } = mirrors.get(id)!;
    const response = await get(system.api, id, `/v1/changes?cursor=${cursor}`);
    check(`${id}: a cursor that was issued before the recovery gets 400 (got ${response.status})`, response.status === 400);
    const restored = await follow(system.api, id);
    const isSame = copy.size === CALLS && [...restored.faults, ...restored.compare(copy)].length === 0;
    check(`${id}: its calls are exactly the ${copy.size} from before the deletion, byte for byte`, isSame);
  }
  await system.stop();
}

/** Loses the server between two imports without archiving its last WAL, restores it, and counts the imports that are lost. */
async function recoverFromCrash(): Promise<void> {
  await server.backUp();
  const system = await startOn(server.url);
  const imports: { callId: string; finishedAt: number }[] = [];
  // Three archive timeouts, so that some WAL segments are archived meanwhile.
  const importForMs = 3 * ARCHIVE_TIMEOUT_S * 1_000;
  for (const end = performance.now() + importForMs; performance.now() < end; await sleep(50)) {
    const n = CALLS * 2 + imports.length;
    await load(system.operator, callsOf('other', n, n + 1));
    imports.push({ callId: `call_${n}`, finishedAt: performance.now() });
  }
  await server.lose();
  const lostAt = performance.now();
  await system.stop();
  await server.restore({});
  const rows = await server.query<{ id: string }>(`select call_id as id from calls.calls where organization = 'other'`);
  const restoredIds = new Set(rows.map(({ id }) => id));
  const firstLost = imports.findIndex(({ callId }) => !restoredIds.has(callId));
  const lost = firstLost < 0 ? [] : imports.slice(firstLost);
  const lostSeconds = (lostAt - (lost[0]?.finishedAt ?? lostAt)) / 1_000;
  print(
    `archive_timeout ${ARCHIVE_TIMEOUT_S} s: lost ${lost.length} of ${imports.length} imports, the oldest ${lostSeconds.toFixed(1)} s before the crash (RPO)`,
  );
  check(
    'only the last imports are lost: none was restored that finished after a lost one',
    !lost.some(({ callId }) => restoredIds.has(callId)),
  );
  check('the loss covers less than two archive timeouts', lostSeconds < 2 * ARCHIVE_TIMEOUT_S);
}

function prepare(): Promise<void> {
  return prepareDatabase({ adminDatabaseUrl: server.url, secret: SECRET, operatorCredential: OPERATOR_CREDENTIAL });
}

/** Generates the import records of calls number `from` to `to` (exclusive). */
function callsOf(organization: string, from: number, to: number): object[] {
  return Array.from({ length: to - from }, (_, i) => ({
    type: 'call',
    organization,
    id: `call_${from + i}`,
    created_at: '2026-01-01T00:00:00Z',
    summary: `Summary of call ${from + i}. `.repeat(20),
    transcript: 'Words that were said. '.repeat(100),
  }));
}

/** Builds a mirror of an organization's calls from its feed of changes. */
async function follow(api: string, organization: string): Promise<Follower> {
  const follower = new Follower({ limit: 50, details: true }, (path) => get(api, organization, path));
  await follower.finish();
  return follower;
}

function get(api: string, organization: string, path: string): Promise<Response> {
  return fetch(`http://${api}${path}`, { headers: { authorization: `Bearer ${keys.get(organization)}` } });
}
