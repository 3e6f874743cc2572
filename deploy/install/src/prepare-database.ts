import { ensureOperator } from '@crs/auth/bootstrap';
import { migrations as auth } from '@crs/auth/migrations';
import { migrations as calls } from '@crs/calls/migrations';
import { migrations as entities } from '@crs/entities/migrations';
import { digestOf } from '@crs/kit/api-key';
import type { AdminDatabase } from '@crs/kit/data/connection';
import { migrate } from '@crs/kit/data/migrate';
import { releaseVersion } from '@crs/kit/process/version';
import { migrations as projects } from '@crs/projects/migrations';
import { beginRelease, finishRelease } from './releases.ts';

const MIGRATIONS = { auth, projects, calls, entities };

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

/** A service's database role, or its second role (see `secrets.ts`), and the password. */
export interface Login {
  role: string;
  password: string;
}

export interface Preparation extends AdminDatabase {
  apart?: Apart<AdminDatabase>;
  /** The login of each service. Undefined: its role is managed elsewhere, and exists. */
  loginOf: (owner: Owner) => Login | undefined;
  /** The first operator. */
  operator: Operator;
  /** The version to install; by default this one. */
  version?: string;
}

/**
 * Migrates every schema, sets the passwords of the services' logins, and stores the first operator.
 * @returns the migrations that ran, as `schema/name`
 * @throws Failure if the version may not follow the installed one
 */
export async function prepareDatabase({
  apart = {},
  loginOf,
  operator,
  version = releaseVersion(),
  ...admin
}: Preparation): Promise<string[]> {
  await beginRelease(admin, version);
  const ran: string[] = [];
  for (const owner of OWNERS) {
    const { role: loginRole, password } = loginOf(owner) ?? {};
    const database = (owner !== 'auth' && apart[owner]) || admin;
    const names = await migrate({ ...database, service: owner, migrations: MIGRATIONS[owner], loginRole, password });
    ran.push(...names.map((name) => `${owner}/${name}`));
  }
  await ensureOperator(admin, operator.name, digestOf(operator.credential));
  await finishRelease(admin, version);
  return ran;
}
