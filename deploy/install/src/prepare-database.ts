import { ensureOperator } from '@crs/auth/bootstrap';
import { migrations as auth } from '@crs/auth/migrations';
import { migrations as calls } from '@crs/calls/migrations';
import { migrations as entities } from '@crs/entities/migrations';
import { digestOf } from '@crs/kit/product/api-key';
import { migrate } from '@crs/kit/data/migrate';
import { migrations as projects } from '@crs/projects/migrations';

const MIGRATIONS = { auth, projects, calls, entities };

/** Services with a schema, in the order of their migrations. */
export type Owner = keyof typeof MIGRATIONS;
export const OWNERS = Object.keys(MIGRATIONS) as Owner[];

export interface Operator {
  name: string;
  /** `cro_...` */
  credential: string;
}

export interface Preparation {
  /** PostgreSQL, as a role that may create roles and schemas. */
  adminUrl: string;
  /** Password of each service's role. Undefined: the role exists, and is managed elsewhere. */
  passwordOf: (owner: Owner) => string | undefined;
  /** The first operator. */
  operator: Operator;
}

/**
 * Migrates every schema, sets the passwords of the services' roles, and stores the first operator.
 * @returns the migrations that ran, as `schema/name`
 */
export async function prepareDatabase({ adminUrl, passwordOf, operator }: Preparation): Promise<string[]> {
  const ran: string[] = [];
  for (const owner of OWNERS) {
    const password = passwordOf(owner);
    const names = await migrate({
      adminUrl,
      service: owner,
      migrations: MIGRATIONS[owner],
      ...(password !== undefined && { password }),
    });
    ran.push(...names.map((name) => `${owner}/${name}`));
  }
  await ensureOperator(adminUrl, operator.name, digestOf(operator.credential));
  return ran;
}
