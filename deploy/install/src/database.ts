import { adminConnection, OWNER_ROLE, type AdminDatabase } from '@crs/kit/data/connection';
import { RolesMissing } from '@crs/kit/data/roles';
import { StepLocked } from '@crs/kit/data/run-steps';
import { Client } from 'pg';
import { Failure } from './failure.ts';
import { isNetworkError, retryTransient } from './retry.ts';

const TIMEOUT_MS = 5_000;

/** Waits until the database accepts connections. @throws Failure with the reason if it doesn't */
export async function waitForDatabase(admin: AdminDatabase, timeoutMs?: number): Promise<void> {
  try {
    await retryTransient(() => connectOnce(admin), isTransient, timeoutMs);
  } catch (error) {
    throw new Failure(`The database can't be reached by MIGRATE_DATABASE_URL (${hostOf(admin.adminUrl)}): ${reasonOf(error)}.`);
  }
}

async function connectOnce(admin: AdminDatabase, work: (client: Client) => Promise<void> = async () => {}): Promise<void> {
  const client = new Client({ ...adminConnection(admin), connectionTimeoutMillis: TIMEOUT_MS });
  try {
    await client.connect();
    await work(client);
  } finally {
    await client.end().catch(() => {});
  }
}

const ELSEWHERE = `select d.datname as name from pg_shdepend s join pg_database d on d.oid = s.dbid
  where s.refclassid = 'pg_authid'::regclass and s.refobjid = to_regrole($1) and d.datname <> current_database() limit 1`;

/** @throws Failure if the role has permissions in another database of the server: a new password would lock another installation out */
export async function checkRoleIsFree(admin: AdminDatabase, role: string): Promise<void> {
  await connectOnce(admin, async (client) => {
    const { rows } = await client.query<{ name: string }>(ELSEWHERE, [role]);
    if (rows[0])
      throw new Failure(
        `The role ${role} has rights in the database ${rows[0].name} of ${hostOf(admin.adminUrl)}, so another installation may use it. ` +
          'Give each installation a server of its own, or drop that database.',
      );
  });
}

/** Whether the server is starting, stopping, out of connections or unreachable. */
function isTransient(error: unknown): boolean {
  return isNetworkError(error) || /^(57P0|53|08)/.test(codeOf(error)) || /timeout|terminated/i.test((error as Error).message);
}

function reasonOf(error: unknown): string {
  switch (codeOf(error)) {
    case '28P01':
    case '28000':
      return 'it refuses this role or password';
    case '3D000':
      return 'it has no database of this name';
    default:
      return codeOf(error) || (error as Error).message;
  }
}

/** Converts an error of a migration into a Failure if a person can act on it. Returns others unchanged. */
export function explain(error: unknown): unknown {
  if (error instanceof StepLocked || error instanceof RolesMissing) return new Failure(error.message);
  if (codeOf(error) !== '42501' || !(error instanceof Error)) return error;
  return new Failure(
    `The role of MIGRATE_DATABASE_URL lacks rights for a migration (${error.message.replace(/^.* - /s, '')}): it needs CREATEROLE, and CREATE on the database, or membership in ${OWNER_ROLE} once that exists.`,
  );
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

function hostOf(url: string): string {
  return new URL(url).host;
}
