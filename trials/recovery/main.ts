// Tries the recovery to a point in time by a base backup and archived WAL: of one server, or of a coordinator and two workers of Citus.
//
//   node trials/recovery/main.ts [--calls 2000] [--citus DIRECTORY]
//
// DIRECTORY holds bin/postgres with the extension. An organization is deleted by mistake; the servers are lost and restored to a moment before that, and the
// steps of docs/runbooks/restore.md follow. Then the calls and the cursors are checked. At last the server is lost without notice, which shows
// what is lost at the worst. Prints the times, and exits with 1 where something is not as it should be.
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { prepareDatabase } from '@crs/local/stack';
import { createKey } from '@crs/testing/credentials';
import { erase } from '@crs/testing/erase';
import { load } from '@crs/testing/load';
import { OPERATOR_CREDENTIAL, SECRET } from '@crs/testing/setup';
import { startOn } from '../citus/system.ts';
import { Node } from './node.ts';

const { values: options } = parseArgs({ options: { calls: { type: 'string', default: '2000' }, citus: { type: 'string' } } });
const CALLS = Number(options.calls);
const ORGANIZATIONS = ['deleted', 'other'];
const LIMIT = { requests: 1_000_000, period_seconds: 60 };
/** A segment of the WAL is archived at the latest after this time, however little was written. */
const ARCHIVE_TIMEOUT_S = 5;
const RUNBOOK = new URL('../../docs/runbooks/restore.md', import.meta.url);
const CITUS = {
  shared_preload_libraries: 'citus',
  'citus.shard_count': '4',
  max_prepared_transactions: '200',
  max_worker_processes: '32',
};

const work = await mkdtemp(join(tmpdir(), 'crs-recovery-'));
await chmod(work, 0o711);
let failed = false;
const print = (line: string) => process.stdout.write(`${line}\n`);
const check = (what: string, right: boolean) => {
  print(`${right ? 'yes' : 'NO '}  ${what}`);
  failed ||= !right;
};
const since = (started: number) => `${((performance.now() - started) / 1000).toFixed(1)} s`;

const settings = { archive_timeout: `${ARCHIVE_TIMEOUT_S}s`, ...(options.citus !== undefined && CITUS) };
const names = options.citus === undefined ? ['server'] : ['coordinator', 'worker1', 'worker2'];
const nodes: Node[] = [];
for (const name of names) nodes.push(await Node.start(join(work, name), settings, options.citus));
const first = nodes[0];
const keys = new Map<string, string>();
try {
  if (options.citus !== undefined) await joinNodes();
  await prepareDatabase({ adminDatabaseUrl: first.url, secret: SECRET, operatorCredential: OPERATOR_CREDENTIAL });
  await pointInTime();
  await lostWithoutNotice();
} finally {
  for (const node of nodes) await node.stop();
  await rm(work, { recursive: true, force: true });
}
process.exit(failed ? 1 : 0);

async function pointInTime(): Promise<void> {
  let system = await start();
  for (const organization of ORGANIZATIONS) {
    await load(system.operator, [{ type: 'organization', id: organization, name: organization, rate_limit: LIMIT }]);
    keys.set(organization, await createKey(system.operator, organization));
    await load(system.operator, callsOf(organization, 0, CALLS / 2));
  }
  await Promise.all(nodes.map((node) => node.backUp()));
  // Half of the calls are in the backup, and half in the WAL alone.
  for (const organization of ORGANIZATIONS) await load(system.operator, callsOf(organization, CALLS / 2, CALLS));
  const before = await system.documents('deleted');
  const cursors = await Promise.all(ORGANIZATIONS.map((organization) => system.follow(organization)));

  const target = await markMoment();
  await sleep(1_000);
  await erase(system.operator, 'deleted', { $case: 'organization', value: true });
  await load(system.operator, callsOf('other', CALLS, CALLS + 10));
  await archived();
  await system.stop();

  for (const node of nodes) await node.lose();
  const started = performance.now();
  await Promise.all(nodes.map((node) => node.restore(target)));
  print(`base backup and WAL restored: ${since(started)}`);
  for (const statement of await statementsOfRunbook()) await first.query(statement);
  await prepareDatabase({ adminDatabaseUrl: first.url, secret: SECRET, operatorCredential: OPERATOR_CREDENTIAL });
  system = await start();
  const status = (await system.ask('deleted', '/v1/calls/call_0')).status;
  print(`${CALLS * 2} calls, ${nodes.length} server(s): first request served after ${since(started)} (RTO)`);

  check('a key of the deleted organization works', status === 200);
  const after = await system.documents('deleted');
  check(
    `its ${before.length} calls are as they were, byte for byte`,
    after.join('\n') === before.join('\n') && before.length === CALLS,
  );
  check('the other organization has no call from after the moment', (await system.documents('other')).length === CALLS);
  for (const [i, organization] of ORGANIZATIONS.entries()) {
    const answer = await system.ask(organization, `/v1/changes?cursor=${cursors[i].cursor}`);
    check(`a cursor of ${organization} from before is refused (${answer.status})`, answer.status === 400);
    const again = await system.follow(organization);
    check(`a new feed of ${organization} has each call once`, again.seen.toSorted().join() === cursors[i].seen.toSorted().join());
  }
  await system.stop();
}

/** The server is lost while an organization imports. What was not archived yet is lost. */
async function lostWithoutNotice(): Promise<void> {
  for (const node of nodes) {
    await rm(join(work, names[nodes.indexOf(node)], 'backup'), { recursive: true });
    await node.backUp();
  }
  const system = await start();
  const stored: { id: string; at: number }[] = [];
  for (const end = performance.now() + 3_000 * ARCHIVE_TIMEOUT_S; performance.now() < end;) {
    const n = CALLS * 2 + stored.length;
    await load(system.operator, callsOf('other', n, n + 1));
    stored.push({ id: `call_${n}`, at: performance.now() });
    await sleep(50);
  }
  for (const node of nodes) await node.lose();
  const lostAt = performance.now();
  await system.stop();
  await Promise.all(nodes.map((node) => node.restore({})));
  const rows = await first.query<{ id: string }>(`select call_id as id from calls.calls where organization = 'other'`);
  const left = new Set(rows.map(({ id }) => id));
  const lost = stored.filter(({ id }) => !left.has(id));
  const seconds = lost.length === 0 ? 0 : (lostAt - lost[0].at) / 1000;
  print(
    `lost without notice, archive_timeout ${ARCHIVE_TIMEOUT_S} s: ${lost.length} of ${stored.length} imports, of the last ${seconds.toFixed(1)} s (RPO)`,
  );
  check(
    'what is lost is the end of what was stored, and no more than two archive timeouts',
    seconds < 2 * ARCHIVE_TIMEOUT_S && isEnd(stored, lost),
  );
}

function isEnd(all: { id: string }[], end: { id: string }[]): boolean {
  return all.slice(all.length - end.length).every(({ id }, i) => id === end[i].id);
}

/** @returns settings of a recovery to this moment: on Citus, to a point that all nodes name at once */
async function markMoment(): Promise<Record<string, string>> {
  if (options.citus !== undefined) {
    await first.query(`select citus_create_restore_point('before-the-deletion')`);
    return { recovery_target_name: 'before-the-deletion' };
  }
  const [row] = await first.query<{ now: string }>('select clock_timestamp()::text as now');
  return { recovery_target_time: row.now };
}

/** Waits until everything that was written is in the archive. */
async function archived(): Promise<void> {
  for (const node of nodes) {
    const [last] = await node.query<{ file: string }>('select pg_walfile_name(pg_switch_wal()) as file');
    for (;;) {
      const [row] = await node.query<{ done: boolean }>(
        `select last_archived_wal >= '${last.file}' as done from pg_stat_archiver`,
      );
      if (row.done) break;
      await sleep(50);
    }
  }
}

/** The statements of the runbook that follow a restore of a whole server. */
async function statementsOfRunbook(): Promise<string[]> {
  const statements = [...(await readFile(RUNBOOK, 'utf8')).matchAll(/psql -c "(update [^"]+)"/g)].map(
    ([, statement]) => statement,
  );
  check(`the runbook has one statement: ${statements.join()}`, statements.length === 1);
  return statements;
}

async function joinNodes(): Promise<void> {
  for (const node of nodes) await node.query('create extension citus');
  await first.query(`select citus_set_coordinator_host('127.0.0.1', ${first.port})`);
  for (const { port } of nodes.slice(1)) await first.query(`select citus_add_node('127.0.0.1', ${port})`);
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

async function start() {
  const { operator, api, stop } = await startOn(first.url);
  const ask = (organization: string, path: string) =>
    fetch(`http://${api}${path}`, { headers: { authorization: `Bearer ${keys.get(organization)}` } });

  /** Every change from the first one on. */
  async function follow(organization: string, query = ''): Promise<{ seen: string[]; documents: string[]; cursor: string }> {
    const seen: string[] = [];
    const documents: string[] = [];
    for (let cursor = ''; ;) {
      const answer = await ask(organization, `/v1/changes?limit=50${query}${cursor && `&cursor=${cursor}`}`);
      const page = (await answer.json()) as {
        data: { call_id: string; call?: object }[];
        next_cursor: string;
        has_more: boolean;
      };
      seen.push(...page.data.map(({ call_id: id }) => id));
      documents.push(...page.data.map(({ call }) => JSON.stringify(call)));
      cursor = page.next_cursor;
      if (!page.has_more) return { seen, documents, cursor };
    }
  }
  return {
    operator,
    ask,
    follow,
    documents: async (organization: string) => (await follow(organization, '&expand=detail')).documents,
    stop,
  };
}
