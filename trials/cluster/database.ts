/** PostgreSQL's certificate in the cluster trial: the services verify it by a CA bundle of `trustedCertificates`, which one step renews. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createAuthority, issueCertificate, type Pair } from '@crs/install/x509';
import { KUBELET_MS, NAMESPACE, putSecret, readSecret, run } from './cluster.ts';
import { say } from './report.ts';

export const POSTGRES = 'backends-postgres';
/** Secrets that values.yaml names: PostgreSQL's URL, and the CAs by which the services verify its certificate. */
const URL_SECRET = 'trial-database';
const BUNDLE_SECRET = 'trial-database-ca';
/** A renewed CA has the name of the former one, as CloudNativePG's has, so that only the keys distinguish them. */
const AUTHORITY = 'PostgreSQL';
const DAYS = 90;
const RECONNECT_TIMEOUT_MS = 60_000;

/** Gives PostgreSQL a certificate of a new CA, and stores that CA and a URL that requires it for the chart. */
export async function encryptDatabase(): Promise<void> {
  const authority = await createAuthority(AUTHORITY, DAYS, new Date());
  await serve(authority);
  const url = new URL((await readSecret(POSTGRES))['DATABASE_URL']!);
  url.searchParams.set('sslmode', 'verify-full');
  await putSecret(URL_SECRET, { DATABASE_URL: url.href });
  await putSecret(BUNDLE_SECRET, { 'ca.crt': authority.cert });
}

/** Replaces the CA: trusts both, changes PostgreSQL's certificate, then trusts only the new one. Afterwards it makes every process reconnect without a restart. */
export async function renewDatabaseAuthority(): Promise<void> {
  const authority = await createAuthority(AUTHORITY, DAYS, new Date());
  const former = (await readSecret(BUNDLE_SECRET))['ca.crt']!;
  await putSecret(BUNDLE_SECRET, { 'ca.crt': former + authority.cert });
  await sleep(KUBELET_MS);
  await serve(authority);
  await putSecret(BUNDLE_SECRET, { 'ca.crt': authority.cert });
  await sleep(KUBELET_MS);
  await reconnect();
}

/** Ends the services' sessions while they are idle, as poolers and failovers do, until all sessions are newer than now. */
async function reconnect(): Promise<void> {
  const began = await adminSql('select now()');
  const sessions = `pg_stat_activity where application_name like 'crs-%'`;
  const old = `${sessions} and backend_start < '${began}'`;
  const deadline = Date.now() + RECONNECT_TIMEOUT_MS;
  while ((await adminSql(`select count(*) from ${old}`)) !== '0') {
    if (Date.now() > deadline) throw new Error('sessions were never idle');
    await adminSql(
      `select count(pg_terminate_backend(pid)) from ${old} and state = 'idle' and state_change < now() - interval '100 ms'`,
    );
    await sleep(500);
  }
  // Each pod should need the database again.
  await sleep(10_000);
  const rows = await adminSql(`
    select application_name, count(distinct client_addr), count(*), bool_and(ssl)
    from pg_stat_ssl join (select * from ${sessions}) each using (pid) group by 1 order by 1`);
  say(`service|pods|new sessions|encrypted\n${rows}`);
  const expected = ['auth', 'calls', 'entities', 'projects'].every((service) => rows.includes(`crs-${service}`));
  if (!expected || rows.includes('|f')) throw new Error('not every service has reconnected by TLS');
}

/** Gives PostgreSQL a certificate of this CA. It keeps open sessions. */
async function serve(authority: Pair): Promise<void> {
  const { key, cert } = await issueCertificate(authority, [POSTGRES], DAYS, new Date());
  for (const [file, input] of [
    ['server.key', key],
    ['server.crt', cert],
  ])
    await inPod(`umask 077 && cat >"$PGDATA/${file}"`, input);
  await adminSql('alter system set ssl = on');
  await adminSql('select pg_reload_conf()');
  await sleep(1_000);
  if ((await adminSql('show ssl')) !== 'on') throw new Error('PostgreSQL does not encrypt');
}

/** Runs a statement as PostgreSQL's administrator. @returns rows as lines, columns separated by `|` */
export async function adminSql(statement: string, namespace = NAMESPACE): Promise<string> {
  const psql =
    'PGPASSWORD=$(cat /etc/postgres/secret/password) psql --host=/tmp --username=postgres --quiet --no-align --tuples-only';
  return (await inPod(`${psql} --set=ON_ERROR_STOP=1 --file=-`, statement, namespace)).trim();
}

function inPod(command: string, input = '', namespace = NAMESPACE): Promise<string> {
  const exec = ['exec', '--stdin', `statefulset/${POSTGRES}`, '--', 'sh', '-c', command];
  return run('kubectl', ['--namespace', namespace, ...exec], { input });
}
