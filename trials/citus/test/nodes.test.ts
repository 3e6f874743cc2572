import { Database } from '@crs/kit/data/database';
import { derivePassword, serviceUrl } from '@crs/kit/data/migration';
import { credentialScope, workFor } from '@crs/kit/data/scope';
import { createLogger } from '@crs/kit/process/log';
import { createDatabase, type TestDatabase } from '@crs/testing/postgres';
import { SECRET } from '@crs/testing/setup';
import { openSession, type Session } from '@crs/testing/sql';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';

const CONNECTIONS = 4;
/** The connections that statements for one node may take: three quarters. */
const MAX_PER_NODE = 3;

let created: TestDatabase;
let superuser: Session;
let database: Database;

beforeAll(async () => {
  created = await createDatabase(inject('postgresUrl'), inject('template'));
  superuser = await openSession(created.url);
  const url = serviceUrl(created.url, 'calls', derivePassword(SECRET, 'calls'));
  const log = createLogger('test', { level: 'silent' });
  database = new Database({ name: 'test', url, maxConnections: CONNECTIONS, log, pipeline: true });
});
afterAll(async () => {
  await database?.close();
  await superuser?.close();
  await created?.drop();
});

const read = (organization: string, text: string) =>
  database.read(credentialScope(organization, workFor(20_000)), { name: text, text });

/** Returns the organizations of two Citus nodes, those of the fuller node first. On plain PostgreSQL, all are in the first list. */
async function organizationsByNode(): Promise<[string[], string[]?]> {
  const ids = Array.from({ length: 40 }, (_, i) => `org-${i}`);
  const extension = await superuser.query(`select 1 from pg_extension where extname = 'citus'`);
  if (extension.length === 0) return [ids];
  const rows = await superuser.query<{ ids: string[] }>(
    `select array_agg(id) as ids from unnest($1::text[]) id
      join pg_dist_placement on shardid = get_shard_id_for_distribution_column('calls.calls', id)
      group by groupid order by count(*) desc`,
    [ids],
  );
  return [rows[0]!.ids, rows[1]!.ids];
}

it('statements for one Citus node take at most three quarters of the connections; without Citus, they may take all', async () => {
  const [here, elsewhere] = await organizationsByNode();
  // The pool learns from its first statement whether this is Citus.
  await read(here[0]!, 'select 1');
  const locks = await openSession(created.url);
  await locks.query('select pg_advisory_lock(1)');
  const blockedSessions = () =>
    locks.query(`select 1 from pg_locks where locktype = 'advisory' and not granted and database =
      (select oid from pg_database where datname = current_database())`);
  const blockedReads = here.slice(0, 6).map((id) => read(id, 'select pg_advisory_xact_lock_shared(1)'));
  const held = elsewhere ? MAX_PER_NODE : CONNECTIONS;
  await expect.poll(blockedSessions).toHaveLength(held);
  // This would have to wait if the blocked statements had all connections.
  if (elsewhere) await read(elsewhere[0]!, 'select 1');
  expect(await blockedSessions()).toHaveLength(held);
  await locks.close();
  await Promise.all(blockedReads);
});
