import type { ClientConfig } from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';
import { readSecret } from '../process/secrets.ts';

/** PostgreSQL under a role that may create schemas and roles. Services use other roles. */
export interface AdminDatabase {
  adminUrl: string;
  /** The file that holds the password, instead of the URL. */
  adminPasswordFile?: string | undefined;
}

/** The pool and knex have types of their own. */
type Connection = Omit<ClientConfig, 'types'>;

/** @param passwordFile is read for each new connection, because it may hold a cloud's token that expires within minutes */
export function connectionTo(url: string, passwordFile?: string): Connection {
  return { ...parseIntoClientConfig(url), ...(passwordFile !== undefined && { password: () => readSecret(passwordFile) }) };
}

export function adminConnection({ adminUrl, adminPasswordFile }: AdminDatabase): Connection {
  return connectionTo(adminUrl, adminPasswordFile);
}
