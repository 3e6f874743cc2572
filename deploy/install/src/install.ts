import type { Logger } from '@crs/kit/process/log';
import { explainRights, waitForDatabase } from './database.ts';
import { prepareDatabase } from './prepare-database.ts';
import { ensureSecrets, type SecretStore } from './secrets.ts';

export interface Installation {
  /** PostgreSQL, as a role that may create roles and schemas. */
  adminUrl: string;
  /** By which services reach it, but for role and password; absent: as `adminUrl`. */
  serviceUrl?: string | undefined;
}

/**
 * Makes the secrets that are missing, brings the schemas up to date, and makes the first operator known. Safe to run again, and twice at
 * the same time.
 * @throws Failure where a person has to do something
 */
export async function install({ adminUrl, serviceUrl }: Installation, store: SecretStore, log: Logger): Promise<void> {
  // Before secrets are made, which keep where the database is.
  await waitForDatabase(adminUrl);
  const { passwords, operator } = await ensureSecrets(store, serviceUrl ?? adminUrl, log);
  try {
    const ran = await prepareDatabase({ adminUrl, passwordOf: (owner) => passwords[owner], operator });
    log.info({ ran, operator: operator.name }, 'the database is prepared');
  } catch (error) {
    throw explainRights(error);
  }
}
