import type { ClientConfig } from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';
import { readSecret } from '../process/secrets.ts';

/** PostgreSQL, as a role that may create schemas and roles, and that owns what it creates. Services run under other roles. */
export interface AdminDatabase {
  adminUrl: string;
  /** The password is in this file, and not in the URL. */
  adminPasswordFile?: string | undefined;
}

/** The pool and knex have types of their own. */
type Connection = Omit<ClientConfig, 'types'>;

/** @param passwordFile each new connection reads its password from there, such as a token of a cloud that ends after minutes */
export function connectionTo(url: string, passwordFile?: string): Connection {
  return { ...parseIntoClientConfig(url), ...(passwordFile !== undefined && { password: () => readSecret(passwordFile) }) };
}

export function adminConnection({ adminUrl, adminPasswordFile }: AdminDatabase): Connection {
  return connectionTo(adminUrl, adminPasswordFile);
}
