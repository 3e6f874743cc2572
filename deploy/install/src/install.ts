import type { AdminDatabase } from '@crs/kit/data/connection';
import type { Logger } from '@crs/kit/process/log';
import { explain, waitForDatabase } from './database.ts';
import { prepareDatabase } from './prepare-database.ts';
import { ensureSecrets, type SecretStore } from './secrets.ts';

export interface Installation extends AdminDatabase {
  /** The services' URL of it; role and password are replaced. Absent: `adminUrl`. */
  serviceUrl?: string | undefined;
}

/**
 * Creates missing secrets, migrates the schemas, and stores the first operator. It may run again, and several times at once.
 * @throws Failure if a person has to act
 */
export async function install({ serviceUrl, ...admin }: Installation, store: SecretStore, log: Logger): Promise<void> {
  // The database comes first: the secrets store its address.
  await waitForDatabase(admin);
  const { logins, operator } = await ensureSecrets(store, serviceUrl ?? admin.adminUrl, log);
  try {
    const ran = await prepareDatabase({ ...admin, loginOf: (owner) => logins[owner], operator });
    log.info({ ran, operator: operator.name }, 'the database is prepared');
  } catch (error) {
    throw explain(error);
  }
}
