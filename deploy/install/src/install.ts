import type { AdminDatabase } from '@crs/kit/data/connection';
import { roleOf } from '@crs/kit/data/migration';
import type { Logger } from '@crs/kit/process/log';
import { checkRoleIsFree, explain, waitForDatabase } from './database.ts';
import { Failure } from './failure.ts';
import { prepareDatabase, type Apart, type Owner } from './prepare-database.ts';
import { ensureSecrets, type SecretStore } from './secrets.ts';

export interface Server extends AdminDatabase {
  /** The server's URL for services; role and password are replaced. Absent: `adminUrl`. */
  serviceUrl?: string | undefined;
}

export interface Installation extends Server {
  apart?: Apart<Server>;
  /** Whether to create database roles and set their passwords; by default true. Otherwise, a database administrator does. */
  manageRoles?: boolean | undefined;
}

/**
 * Creates missing secrets, migrates the schemas, and stores the first operator. It may run again, also concurrently.
 * @throws Failure if a person has to act
 */
export async function install(
  { apart = {}, manageRoles = true, ...main }: Installation,
  store: SecretStore,
  log: Logger,
): Promise<void> {
  // The databases first, because the secrets contain their addresses.
  for (const server of [main, ...Object.values(apart)]) if (server) await waitForDatabase(server);
  const serverOf = (owner: Owner) => (owner !== 'auth' && apart[owner]) || main;
  const urlOf = (owner: Owner) => serverOf(owner).serviceUrl ?? serverOf(owner).adminUrl;
  const mayMake = (owner: Owner) => {
    if (!manageRoles) throw new Failure(noSecret(store.describe(owner), roleOf(owner)));
    return checkRoleIsFree(serverOf(owner), roleOf(owner));
  };
  const { logins, operator, webhooksCredential } = await ensureSecrets(store, { urlOf, mayMake }, log);
  try {
    const ran = await prepareDatabase({
      ...main,
      apart,
      manageRoles,
      loginOf: (owner) => logins[owner],
      operator,
      webhooksCredential,
    });
    log.info({ ran, operator: operator.name }, 'the database is prepared');
  } catch (error) {
    throw explain(error);
  }
}

function noSecret(secret: string, role: string): string {
  return `${secret} is missing. Without CRS_MANAGE_ROLES, create it, with the DATABASE_URL of the role ${role}.`;
}
