// Tests a point-in-time recovery from a base backup and archived WAL.
//
//   node trials/recovery/main.ts [--calls 2000]
//
// An organization is deleted by mistake. The server is lost, restored to the moment before the deletion, and the steps of docs/runbooks/restore.md are
// performed. Then calls and cursors are compared with the earlier ones. Prints the recovery time (RTO) and how much an unplanned loss of the server loses
// at most (RPO), and exits with 1 if a check fails.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
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
import { ARCHIVE_TIMEOUT_S, ArchivingServer } from './server.ts';

const { values: options } = parseArgs({ options: { calls: { type: 'string', default: '2000' } } });
const CALLS = Number(options.calls);
const ORGANIZATIONS = ['deleted', 'other'];
const LIMIT = { requests: 1_000_000, period_seconds: 60 };
const RUNBOOK = new URL('../../docs/runbooks/restore.md', import.meta.url);

const print = (line: string) => process.stdout.write(`${line}\n`);
const check = (what: string, isRight: boolean) => {
  print(`${isRight ? 'yes' : 'NO '}  ${what}`);
  if (!isRight) process.exitCode = 1;
};
const since = (started: number) => `${((performance.now() - started) / 1000).toFixed(1)} s`;

const keys = new Map<string, string>();
const home = await mkdtemp(join(tmpdir(), 'crs-recovery-'));
const server = new ArchivingServer(home);
try {
  await server.create();
  await prepare();
  await pointInTime();
  await lostWithoutNotice();
} finally {
  await server.stop();
  await rm(home, { recursive: true, force: true });
}

async function pointInTime(): Promise<void> {
  let system = await startOn(server.url);
  for (const id of ORGANIZATIONS) {
    await load(system.operator, [{ type: 'organization', id, name: id, rate_limit: LIMIT }, ...callsOf(id, 0, CALLS / 2)]);
    keys.set(id, await createKey(system.operator, id));
  }
  await server.backUp();
  // Half of the calls are in the backup, the others only in the WAL.
  for (const id of ORGANIZATIONS) await load(system.operator, callsOf(id, CALLS / 2, CALLS));
  const before = new Map<string, Follower>();
  for (const id of ORGANIZATIONS) before.set(id, await follow(system.api, id));
  const [target] = await server.query<{ now: string }>('select clock_timestamp()::text as now');
  await sleep(1_000);
  await erase(system.operator, 'deleted', { $case: 'organization', value: true });
  await load(system.operator, callsOf('other', CALLS, CALLS + 10));
  await server.archived();
  await system.stop();
  await server.lose();

  const started = performance.now();
  await server.restore({ recovery_target_time: target!.now });
  print(`base backup and WAL restored: ${since(started)}`);
  await server.query(await statementOfRunbook());
  await prepare();
  system = await startOn(server.url);
  const { status } = await get(system.api, 'deleted', '/v1/calls/call_0');
  print(`${CALLS * 2} calls: first request served after ${since(started)} (RTO)`);
  check('a key of the deleted organization works', status === 200);
  for (const id of ORGANIZATIONS) {
    const { cursor, copy } = before.get(id)!;
    const refused = await get(system.api, id, `/v1/changes?cursor=${cursor}`);
    check(`a cursor of ${id} from before is refused (${refused.status})`, refused.status === 400);
    const again = await follow(system.api, id);
    const isSame = copy.size === CALLS && [...again.faults, ...again.compare(copy)].length === 0;
    check(`the ${copy.size} calls of ${id} are as they were, byte for byte, and no others are there`, isSame);
  }
  await system.stop();
}

/** Loses the server during an import. Everything that wasn't archived yet is lost. */
async function lostWithoutNotice(): Promise<void> {
  await server.backUp();
  const system = await startOn(server.url);
  const stored: { id: string; at: number }[] = [];
  for (const end = performance.now() + 3_000 * ARCHIVE_TIMEOUT_S; performance.now() < end; await sleep(50)) {
    const n = CALLS * 2 + stored.length;
    await load(system.operator, callsOf('other', n, n + 1));
    stored.push({ id: `call_${n}`, at: performance.now() });
  }
  await server.lose();
  const lostAt = performance.now();
  await system.stop();
  await server.restore({});
  const rows = await server.query<{ id: string }>(`select call_id as id from calls.calls where organization = 'other'`);
  const left = new Set(rows.map(({ id }) => id));
  const firstLost = stored.findIndex(({ id }) => !left.has(id));
  const lost = firstLost < 0 ? [] : stored.slice(firstLost);
  const seconds = (lostAt - (lost[0]?.at ?? lostAt)) / 1000;
  print(
    `archive_timeout ${ARCHIVE_TIMEOUT_S} s: lost ${lost.length} of ${stored.length} imports, those of the last ${seconds.toFixed(1)} s (RPO)`,
  );
  check('only the latest imports are lost', !lost.some(({ id }) => left.has(id)));
  check('no more than two archive timeouts are lost', seconds < 2 * ARCHIVE_TIMEOUT_S);
}

function prepare(): Promise<void> {
  return prepareDatabase({ adminDatabaseUrl: server.url, secret: SECRET, operatorCredential: OPERATOR_CREDENTIAL });
}

/** @returns the runbook's statement to run after restoring a whole server */
async function statementOfRunbook(): Promise<string> {
  const [found, ...others] = (await readFile(RUNBOOK, 'utf8')).matchAll(/psql -c "(update [^"]+)"/g);
  check(`the runbook has one statement: ${found?.[1]}`, found !== undefined && others.length === 0);
  return found![1]!;
}

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

/** Reads all changes of an organization. */
async function follow(api: string, organization: string): Promise<Follower> {
  const follower = new Follower({ limit: 50, details: true }, (path) => get(api, organization, path));
  await follower.finish();
  return follower;
}

function get(api: string, organization: string, path: string): Promise<Response> {
  return fetch(`http://${api}${path}`, { headers: { authorization: `Bearer ${keys.get(organization)}` } });
}
