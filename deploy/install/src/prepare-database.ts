import { ensureOperator, ensureProgram } from '@crs/auth/bootstrap';
import { migrations as auth } from '@crs/auth/migrations';
import { migrations as calls } from '@crs/calls/migrations';
import { migrations as entities } from '@crs/entities/migrations';
import { digestOf } from '@crs/kit/api-key';
import type { AdminDatabase } from '@crs/kit/data/connection';
import { migrateSchema } from '@crs/kit/data/migrate';
import { roleOf } from '@crs/kit/data/migration';
import { ensureRoles } from '@crs/kit/data/roles';
import { releaseVersion } from '@crs/kit/process/version';
import { migrations as projects } from '@crs/projects/migrations';
import { migrations as webhooks } from '@crs/webhooks/migrations';
import { beginRelease, finishRelease } from './releases.ts';

const MIGRATIONS = { auth, projects, calls, entities, webhooks };

/** Services with a schema, in the order of their migrations. */
export type Owner = keyof typeof MIGRATIONS;
export const OWNERS = Object.keys(MIGRATIONS) as Owner[];

/** Separate servers by service. The other schemas, and the table of releases, are on the main server. */
export type Apart<Server> = Partial<Record<Exclude<Owner, 'auth'>, Server | undefined>>;

export interface Operator {
  name: string;
  /** `cro_...` */
  credential: string;
}

/** A service's database role, or its second role (see `secrets.ts`), and the password. Without one, the role is managed elsewhere. */
export interface Login {
  role: string;
  password?: string | undefined;
}

export interface Preparation extends AdminDatabase {
  apart?: Apart<AdminDatabase>;
  /** The login of each service. */
  loginOf: (owner: Owner) => Login;
  /** Whether to create roles and set passwords; by default true. Otherwise, a database administrator does. */
  manageRoles?: boolean | undefined;
  /** The first operator. */
  operator: Operator;
  /** The credential by which the program webhooks gets its tokens from auth. */
  webhooksCredential: string;
  /** The version to install; by default this one. */
  version?: string;
}

/**
 * Ensures the roles, migrates every schema, and stores the first operator.
 * @returns the migrations that ran, as `schema/name`
 * @throws Failure if the version may not follow the installed one
 */
export async function prepareDatabase({
  apart = {},
  loginOf,
  manageRoles,
  operator,
  webhooksCredential,
  version = releaseVersion(),
  ...admin
}: Preparation): Promise<string[]> {
  const databaseOf = (owner: Owner) => (owner !== 'auth' && apart[owner]) || admin;
  for (const [database, owners] of Map.groupBy(OWNERS, databaseOf)) {
    const roles = owners.map((owner) => {
      const { role: login, password } = loginOf(owner);
      return { role: roleOf(owner), login, password };
    });
    await ensureRoles({ ...database, manageRoles }, roles);
  }
  await beginRelease(admin, version);
  const ran: string[] = [];
  for (const owner of OWNERS) {
    const names = await migrateSchema({ ...databaseOf(owner), service: owner, migrations: MIGRATIONS[owner] });
    ran.push(...names.map((name) => `${owner}/${name}`));
  }
  await ensureOperator(admin, operator.name, digestOf(operator.credential));
  await ensureProgram(admin, 'webhooks', digestOf(webhooksCredential));
  await finishRelease(admin, version);
  return ran;
}
