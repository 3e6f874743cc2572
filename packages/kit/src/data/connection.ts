import { Client, type ClientConfig } from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';
import { readSecret } from '../process/secrets.ts';

/** PostgreSQL under a role that is a member of `crs_owner`, or may create roles. Services use other roles. */
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

/** Returns a class of clients that read the certificate files of the URL, such as `sslrootcert`, again for each connection. They may be renewed. */
export function clientOf(url: string, passwordFile?: string): typeof Client {
  let current = connectionTo(url, passwordFile);
  return class extends Client {
    constructor(config?: string | ClientConfig) {
      try {
        current = connectionTo(url, passwordFile);
      } catch {
        // A file is missing at this moment: the former content may still do.
      }
      super({ ...(config as ClientConfig), ...current });
    }
  };
}

export function adminConnection({ adminUrl, adminPasswordFile }: AdminDatabase): Connection {
  return connectionTo(adminUrl, adminPasswordFile);
}

/** Connects, runs `work`, and disconnects. */
export async function withClient<T>(connection: Connection, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client(connection);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** The role that owns the schemas. Nobody logs in as it, so the role of the admin URL may be replaced, or exist only for an hour. */
export const OWNER_ROLE = 'crs_owner';
export const BECOME_OWNER = `set role ${OWNER_ROLE}`;

/** Runs `work` with the rights of the owner of the schemas, on a connection of its own. */
export function asOwner<T>(admin: AdminDatabase, work: (client: Client) => Promise<T>): Promise<T> {
  return withClient(adminConnection(admin), async (client) => {
    await client.query(BECOME_OWNER);
    return work(client);
  });
}
