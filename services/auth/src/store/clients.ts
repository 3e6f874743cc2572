import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';

/** An OAuth client that an operator has registered, for all organizations. */
const CLIENT = {
  clientId: column.text,
  name: column.text,
  redirectUris: column.textArray,
  secretEncrypted: column.bytes.orNull,
  createdAt: column.timestamp,
};
export type ClientRow = column.RowOf<typeof CLIENT>;

const COLUMNS = column.selectList(CLIENT);

export function findClient(clientId: string): Statement<ClientRow> {
  return {
    name: 'find_client',
    row: CLIENT,
    text: `select ${COLUMNS} from auth.clients where client_id = $1`,
    values: [clientId],
  };
}

export function listClients(): Statement<ClientRow> {
  return { name: 'list_clients', row: CLIENT, text: `select ${COLUMNS} from auth.clients order by name, client_id` };
}

export function insertClient(client: Omit<ClientRow, 'createdAt'>): Statement<ClientRow> {
  return {
    name: 'insert_client',
    row: CLIENT,
    text: `insert into auth.clients (client_id, name, redirect_uris, secret_encrypted) values ($1, $2, $3, $4) returning ${COLUMNS}`,
    values: [client.clientId, client.name, client.redirectUris, client.secretEncrypted],
  };
}

export function deleteClient(clientId: string): Statement<ClientRow> {
  return {
    name: 'delete_client',
    row: CLIENT,
    text: `delete from auth.clients where client_id = $1 returning ${COLUMNS}`,
    values: [clientId],
  };
}
