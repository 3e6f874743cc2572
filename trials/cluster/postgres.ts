import { kubectl } from './cluster.ts';
import { until } from './under-load.ts';

const POD = 'backends-postgres-0';
/** `charts/backends` asks for a password on every way in. */
const AS_ADMIN = 'export PGPASSWORD="$(cat /etc/postgres/secret/password)" PGHOST=127.0.0.1 PGUSER=postgres;';

/** Runs a command of the shell beside PostgreSQL. */
function beside(command: string): Promise<string> {
  return kubectl(['exec', POD, '--', 'sh', '-c', `${AS_ADMIN} ${command}`]);
}

/** The answer of a statement, without quotes in it that the shell would take. */
export async function sql(statement: string, application = 'scenario'): Promise<string> {
  return (await beside(`PGAPPNAME=${application} psql -AtX -v ON_ERROR_STOP=1 -c "${statement}"`)).trim();
}

/** Whether a statement that begins so waits for a lock. */
export async function waitsForLock(beginning: string): Promise<boolean> {
  const waiting = `select count(*) from pg_stat_activity where wait_event_type = 'Lock' and ltrim(query, E' \\n') like '${beginning}%'`;
  return (await sql(waiting)) !== '0';
}

interface Held {
  release(): Promise<void>;
}

/** Starts a `pg_dump` whose reader stops reading, so that its locks on all tables stay. */
export async function holdDump(): Promise<Held> {
  const go = '/tmp/read-the-dump';
  const ended = beside(`rm -f ${go}; pg_dump postgres | { until [ -e ${go} ]; do sleep 0.2; done; cat >/dev/null; }`);
  const holds = `select count(*) from pg_locks join pg_stat_activity using (pid)
    where application_name = 'pg_dump' and relation = 'projects.projects'::regclass`;
  await Promise.race([
    until('pg_dump holds its locks', async () => (await sql(holds)) !== '0', 30),
    ended.then(() => Promise.reject(new Error('pg_dump ended before it was to'))),
  ]);
  return {
    async release() {
      await beside(`touch ${go}`);
      await ended;
    },
  };
}
