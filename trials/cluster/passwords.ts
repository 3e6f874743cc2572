/** Part of the plain manifests' step: no password of PostgreSQL appears in its log, although it logs every statement. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { NAME, readSecret, run } from './cluster.ts';
import { adminSql, POSTGRES } from './database.ts';

const OWNERS = ['auth', 'calls', 'projects', 'entities', 'webhooks'];
const CHANGED = 'calls';
const SESSIONS_TIMEOUT_MS = 60_000;

/** Logs every statement from now on. */
export async function logStatements(namespace: string): Promise<void> {
  await adminSql(`alter system set log_statement = 'all'`, namespace);
  await adminSql('select pg_reload_conf()', namespace);
}

/**
 * Changes the password of a service by `docs/runbooks/change-database-password.md`, and looks for all passwords in PostgreSQL's log.
 * @returns a note for the report @throws Error if the log contains one of them
 */
export async function changePassword(namespace: string): Promise<string> {
  const before = await passwords(namespace);
  const url = new URL((await readSecret(`${NAME}-${CHANGED}`, namespace))['DATABASE_URL']!);
  [url.username, url.password] = [`crs_${CHANGED}_b`, randomBytes(24).toString('hex')];
  const patch = JSON.stringify({ stringData: { DATABASE_URL: url.href } });
  await run('kubectl', ['--namespace', namespace, 'patch', 'secret', `${NAME}-${CHANGED}`, '--type', 'merge', '--patch', patch]);
  const kubectl = (args: string[]) => run('kubectl', ['--namespace', namespace, ...args], { shown: true });
  await kubectl(['create', 'job', '--from', `cronjob/${NAME}-install`, 'install-1']);
  await kubectl(['wait', '--for=condition=complete', 'job/install-1', '--timeout=5m']);
  await kubectl(['rollout', 'restart', `deployment/${NAME}-${CHANGED}`]);
  await kubectl(['rollout', 'status', `deployment/${NAME}-${CHANGED}`, '--timeout=5m']);
  await adminSql(`alter role crs_${CHANGED} nologin`, namespace);
  await untilOnly(url.username, namespace);

  const log = await run('kubectl', ['--namespace', namespace, 'logs', `statefulset/${POSTGRES}`, '--tail=-1']);
  for (const statement of [`create role crs_${CHANGED} `, `create role ${url.username} `]) {
    if (!log.includes(statement)) throw new Error(`PostgreSQL's log has no "${statement}"`);
  }
  const all = [...before, ...(await passwords(namespace))];
  const shown = all.filter(({ password }) => log.includes(password));
  if (shown.length > 0) throw new Error(`PostgreSQL's log has the password of ${shown.map(({ secret }) => secret).join(', ')}`);
  return `${all.length} passwords looked for in ${log.split('\n').length} lines of PostgreSQL's log: none found`;
}

/** Waits until the sessions of the service have only this role: the pod before is still ending. */
async function untilOnly(role: string, namespace: string): Promise<void> {
  const deadline = Date.now() + SESSIONS_TIMEOUT_MS;
  for (;;) {
    const roles = await adminSql(`select distinct usename from pg_stat_activity where usename like 'crs_${CHANGED}%'`, namespace);
    if (roles === role) return;
    if (Date.now() > deadline) throw new Error(`${CHANGED} logs in as ${roles.replaceAll('\n', ', ')}`);
    await sleep(1_000);
  }
}

async function passwords(namespace: string): Promise<{ secret: string; password: string }[]> {
  const secrets = [POSTGRES, ...OWNERS.map((service) => `${NAME}-${service}`)];
  return Promise.all(
    secrets.map(async (secret) => {
      const { DATABASE_URL: url } = await readSecret(secret, namespace);
      return { secret, password: decodeURIComponent(new URL(url!).password) };
    }),
  );
}
