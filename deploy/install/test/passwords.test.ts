import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { emptyTarget, query } from './_installation.ts';

const target = emptyTarget();
const SERVICES = ['auth', 'calls', 'projects', 'entities', 'webhooks'];
const passwordOf = (url: string) => decodeURIComponent(new URL(url).password);
const logs = async () => readFile(target.postgres.logFile, 'utf8');

async function logAllStatements(): Promise<void> {
  for (const setting of [`log_statement = 'all'`, 'log_min_duration_statement = 0', `log_min_error_statement = 'error'`])
    await query(target.postgres.url, `alter system set ${setting}`);
  await query(target.postgres.url, 'select pg_reload_conf()');
  await expect
    .poll(async () => {
      await query(target.database.url, `select 'statements are logged'`);
      return logs();
    })
    .toContain('statements are logged');
}

async function canLogIn(service: string, role: string): Promise<void> {
  const url = target.secret(service)['DATABASE_URL']!;
  expect(await query(url, 'select current_user as role')).toEqual([{ role }]);
}

/** Replaces the URL of a service's role in its Secret. */
function rotate(service: string, role: string, password: string): void {
  const url = new URL(target.secret(service)['DATABASE_URL']!);
  [url.username, url.password] = [role, encodeURIComponent(password)];
  target.secret(service)['DATABASE_URL'] = url.href;
}

it('an installation, an upgrade and changes of passwords put no password into the log of PostgreSQL', async () => {
  await logAllStatements();
  await target.run();
  const passwords = SERVICES.map((service) => passwordOf(target.secret(service)['DATABASE_URL']!));
  for (const service of SERVICES) await canLogIn(service, `crs_${service}`);
  await target.run();

  rotate('calls', 'crs_calls_b', 'the second password of calls');
  rotate('auth', 'crs_auth', 'a pässword ﬁt for\u00a0SASLprep');
  await target.run();
  await canLogIn('calls', 'crs_calls_b');
  await canLogIn('auth', 'crs_auth');

  await sleep(100);
  const log = await logs();
  expect(log).toContain('alter role crs_auth login password');
  expect(log).toContain('create role crs_calls_b login');
  const secrets = [...passwords, 'the second password of calls', 'a pässword', passwordOf(target.postgres.url)];
  for (const secret of secrets) expect(log).not.toContain(secret);
});

it('an installation leaves a password that works as it is', async () => {
  const verifiers = () =>
    query<{ name: string; verifier: string }>(
      target.postgres.url,
      `select rolname as name, rolpassword as verifier from pg_authid where rolname ~ '^crs_(auth|calls)$' order by 1`,
    );
  await target.run();
  const [before] = [await verifiers()];
  await query(target.postgres.url, `alter role crs_auth password 'another'`);
  await target.run();
  const after = await verifiers();
  expect(after[1]).toEqual(before[1]);
  expect(after[0]).not.toEqual(before[0]);
  for (const service of SERVICES) await canLogIn(service, `crs_${service}`);
});
