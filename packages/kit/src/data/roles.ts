import { Client } from 'pg';
import pRetry from 'p-retry';
import { adminConnection, OWNER_ROLE, withClient, type AdminDatabase } from './connection.ts';
import { scramVerifier } from './scram.ts';

export interface RolesOptions extends AdminDatabase {
  /** Whether this program creates roles and sets passwords; by default true. Otherwise, a database administrator does. */
  manageRoles?: boolean | undefined;
}

/** The roles of a service. */
export interface ServiceRoles {
  /** The role with the service's rights. */
  role: string;
  /** The role that the service logs in as. Another role becomes a member of the first. */
  login: string;
  /** The login's password. Absent: the login is managed elsewhere and must exist. */
  password?: string | undefined;
}

/** Roles are missing that this program doesn't create. */
export class RolesMissing extends Error {
  override readonly name = 'RolesMissing';
}

/** A query that generates a statement, unless it isn't needed, and the query's parameters. */
type Generator = readonly [query: string, ...values: string[]];

const LOGIN_TIMEOUT_MS = 5_000;
/** What a role must not be. An existing one keeps its other attributes: restating them takes a superuser, whom hosted databases don't offer. */
const PLAIN = 'nosuperuser nobypassrls nocreatedb nocreaterole';
const MISSING = `not exists (select from pg_roles where rolname = $1::text)`;
const ON_CITUS = `exists (select from pg_extension where extname = 'citus')`;

const createRole = (role: string): Generator => [
  `select format('create role %I nologin ${PLAIN}', $1::text) as statement where ${MISSING}`,
  role,
];
const createLogin = (role: string): Generator => [
  `select format('create role %I login ${PLAIN}', $1::text) as statement where ${MISSING}`,
  role,
];
const setLogin = (role: string, verifier: string): Generator => [
  `select format(case when ${MISSING} then 'create role %I login ${PLAIN} password %L' else 'alter role %I login password %L' end,
    $1::text, $2::text) as statement`,
  role,
  verifier,
];
const grantRole = (role: string, member: string): Generator => [
  `select format('grant %I to %I', $1::text, $2::text) as statement where not exists (select from pg_roles a, pg_roles b
    where a.rolname = $1::text and b.rolname = $2::text and pg_has_role(b.oid, a.oid, 'usage'))`,
  role,
  member,
];
/** The creator of a role may grant it, but isn't a member that may set it. */
const joinRole = (role: string): Generator => [
  `select format('grant %I to %I', $1::text, current_user) as statement
    where not exists (select from pg_roles where rolname = $1::text and pg_has_role(oid, 'set'))`,
  role,
];
/** The nodes of Citus connect to each other as the current role. Without a password, the owner still can't log in from elsewhere. */
const admitOnCitus = (role: string): Generator => [
  `select format('alter role %I login', $1::text) as statement
    where ${ON_CITUS} and not exists (select from pg_roles where rolname = $1::text and rolcanlogin)`,
  role,
];
/**
 * Makes Citus propagate the organization that a transaction of the role has set, without which row-level security on the nodes would hide all rows.
 */
const passScopeOn = (role: string): Generator => [
  `select format('alter role %I set citus.propagate_set_commands = ''local''', $1::text) as statement
    where ${ON_CITUS} and not exists (select from pg_db_role_setting where setrole = to_regrole(quote_ident($1::text)) and setdatabase = 0
      and 'citus.propagate_set_commands=local' = any(setconfig))`,
  role,
];

/**
 * Ensures the roles of an installation on one server: the owner of the schemas, with the current role as its member, and those of services, which
 * can then log in with their passwords. Idempotent.
 * @throws RolesMissing with the statements that a database administrator has to run
 */
export async function ensureRoles(
  { manageRoles = true, ...admin }: RolesOptions,
  services: readonly ServiceRoles[],
): Promise<void> {
  const owner = [createRole(OWNER_ROLE), joinRole(OWNER_ROLE), admitOnCitus(OWNER_ROLE)];
  const settings = services.flatMap(({ role, login }) => [...new Set([role, login])].map(passScopeOn));
  const elsewhere = services.filter(({ password }) => !manageRoles || password === undefined).flatMap(membersOf);
  await withClient(adminConnection(admin), async (client) => {
    await refuseMissing(client, manageRoles ? elsewhere : [...owner, ...elsewhere, ...settings]);
    if (manageRoles) {
      for (const each of owner) await runGenerated(client, each);
      for (const each of services) await ensureLogin(client, admin, each);
      for (const each of settings) await runGenerated(client, each);
    }
    for (const { role, login } of services) for (const each of new Set([role, login])) await checkRole(client, each);
  });
}

/** Creates a schema that the owner role owns. The current role needs the right to create it, unless it exists. */
export function ensureSchema(admin: AdminDatabase, schema: string): Promise<void> {
  const create = `select format('create schema %I authorization ${OWNER_ROLE}', $1::text) as statement
    where to_regnamespace(quote_ident($1::text)) is null`;
  return withClient(adminConnection(admin), (client) => runGenerated(client, [create, schema]));
}

function membersOf({ role, login }: ServiceRoles): Generator[] {
  return login === role ? [createLogin(login)] : [createRole(role), createLogin(login), grantRole(role, login)];
}

async function ensureLogin(client: Client, admin: AdminDatabase, { role, login, password }: ServiceRoles): Promise<void> {
  if (password === undefined) return;
  if (login !== role) await runGenerated(client, createRole(role));
  if (!(await isUsable(client, admin, login, password))) await runGenerated(client, setLogin(login, scramVerifier(password)));
  if (login !== role) await runGenerated(client, grantRole(role, login));
}

/**
 * Whether a role can log in by this password. Its verifier then stays, because setting it again takes a right that the current role may lack, and
 * a pooler may hold a copy. False if the server requires no password: it may do so later.
 */
async function isUsable(client: Client, admin: AdminDatabase, user: string, password: string): Promise<boolean> {
  const { rows } = await client.query('select from pg_roles where rolname = $1 and rolcanlogin', [user]);
  if (rows.length === 0) return false;
  let isAsked = false;
  const connection = {
    ...adminConnection(admin),
    user,
    connectionTimeoutMillis: LOGIN_TIMEOUT_MS,
    password: () => {
      isAsked = true;
      return password;
    },
  };
  return withClient(connection, () => Promise.resolve(isAsked)).catch(() => false);
}

async function refuseMissing(client: Client, generators: readonly Generator[]): Promise<void> {
  const statements: string[] = [];
  for (const [query, ...values] of generators) {
    const { rows } = await client.query<{ statement: string }>(query, values);
    statements.push(...rows.map(({ statement }) => `${statement};`));
  }
  if (statements.length === 0) return;
  throw new RolesMissing(
    `Roles of the database are missing that this program doesn't create. As a database administrator, run: ${statements.join(' ')}`,
  );
}

/**
 * Runs the statement that a query generates. Retries it, because a migration of another database on this server may change the same role. Doesn't use
 * knex, because its errors quote the statement, and with it the verifier.
 */
async function runGenerated(client: Client, [query, ...values]: Generator): Promise<void> {
  const run = async () => {
    const { rows } = await client.query<{ statement: string }>(query, values);
    if (rows.length > 0) await client.query(rows[0]!.statement);
  };
  const isRace = (error: Error) => /concurrently updated|already exists|duplicate key/.test(error.message);
  await pRetry(run, { retries: 9, minTimeout: 50, maxTimeout: 500, shouldRetry: ({ error }) => isRace(error) });
}

/** @throws Error if the role bypasses row-level security */
async function checkRole(client: Client, role: string): Promise<void> {
  const { rows } = await client.query('select 1 from pg_roles where rolname = $1 and (rolsuper or rolbypassrls)', [role]);
  if (rows.length > 0)
    throw new Error(`Row-level security does not hold for the role ${role}: take SUPERUSER and BYPASSRLS from it.`);
}
