import { asOwner, type AdminDatabase } from '@crs/kit/data/connection';
import { ensureSchema } from '@crs/kit/data/roles';
import type { Client } from 'pg';
import { Failure } from './failure.ts';
import { refusalOf, type Release } from './release-rule.ts';

const LOCK = 0x637274;

/** Records that the installation of a version begins. @throws Failure if the version may not be installed on this database */
export async function beginRelease(admin: AdminDatabase, version: string): Promise<void> {
  await ensureSchema(admin, 'install');
  await inTransaction(admin, async (client) => {
    await client.query(`select pg_advisory_xact_lock(${LOCK})`);
    await client.query(`create table if not exists install.releases (
      version text primary key,
      begun_at timestamptz(3) not null default now(),
      installed_at timestamptz(3)
    )`);
    const { rows } = await client.query<Release>('select version, installed_at as "installedAt" from install.releases');
    const refusal = refusalOf(version, rows);
    if (refusal !== undefined) throw new Failure(refusal);
    await client.query('insert into install.releases (version) values ($1) on conflict do nothing', [version]);
  });
}

/** Records that the database is ready for a version, whose pods start now. */
export async function finishRelease(admin: AdminDatabase, version: string): Promise<void> {
  await inTransaction(admin, (client) =>
    client.query('update install.releases set installed_at = now() where version = $1', [version]),
  );
}

function inTransaction(admin: AdminDatabase, work: (client: Client) => Promise<unknown>): Promise<void> {
  return asOwner(admin, async (client) => {
    await client.query('begin');
    await work(client);
    await client.query('commit');
  });
}
