import type { Query, Statement } from '@crs/kit/data/database';

/** Clients that an operator has registered; for all organizations. */
export interface ClientRow {
  clientId: string;
  name: string;
  redirectUris: string[];
  secretSealed: Buffer | null;
  createdAt: Date;
}

const COLUMNS = `client_id as "clientId", name, redirect_uris as "redirectUris", secret_sealed as "secretSealed", created_at as "createdAt"`;

export function findClient(clientId: string): Statement {
  return {
    name: 'find_client',
    text: `select ${COLUMNS} from auth.clients where client_id = $1`,
    values: [clientId],
  };
}

/** By name. */
export function listClients(query: Query): Promise<ClientRow[]> {
  return query<ClientRow>({ name: 'list_clients', text: `select ${COLUMNS} from auth.clients order by name, client_id` });
}

export async function insertClient(query: Query, client: Omit<ClientRow, 'createdAt'>): Promise<ClientRow> {
  const [row] = await query<ClientRow>({
    name: 'insert_client',
    text: `insert into auth.clients (client_id, name, redirect_uris, secret_sealed) values ($1, $2, $3, $4) returning ${COLUMNS}`,
    values: [client.clientId, client.name, client.redirectUris, client.secretSealed],
  });
  return row!;
}

/** @returns undefined where there is no such client */
export async function deleteClient(query: Query, clientId: string): Promise<ClientRow | undefined> {
  const [row] = await query<ClientRow>({
    name: 'delete_client',
    text: `delete from auth.clients where client_id = $1 returning ${COLUMNS}`,
    values: [clientId],
  });
  return row;
}
