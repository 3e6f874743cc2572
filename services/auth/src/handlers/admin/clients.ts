import { randomBytes } from 'node:crypto';
import { invalid, notFound } from '@crs/kit/errors';
import type { RegisteredClient } from '@crs/proto/crs/auth/v1/admin';
import { requireText } from '../../domain/settings.ts';
import { newClientId, redirectUriProblem } from '../../sign-in/clients.ts';
import { deleteClient, insertClient, listClients, type ClientRow } from '../../store/clients.ts';
import { inTransaction, type OperatorRpcs } from './operator-rpcs.ts';

const MAX_REDIRECT_URIS = 10;

export const clients = {
  createClient: {
    access: { action: 'client.create', roles: ['admin', 'manager'], token: 'none', bound: false },
    handle: inTransaction(async (request, { encrypters, query, audit }) => {
      const name = requireText('name', request.name, 1, 100);
      const { redirectUris } = request;
      requireRedirectUris(redirectUris);
      const clientId = newClientId();
      const clientSecret = request.withSecret ? randomBytes(32).toString('base64url') : '';
      const secretEncrypted = request.withSecret ? encrypters.clients.encrypt(Buffer.from(clientSecret), clientId) : null;
      const [client] = await query(insertClient({ clientId, name, redirectUris, secretEncrypted }));
      await audit('client.create', clientId);
      return { client: toClient(client!), clientSecret };
    }),
  },
  listClients: {
    access: { action: 'client.list', roles: ['admin', 'manager', 'viewer', 'auditor'], token: 'none', bound: false },
    async handle(_request, { db, scope }) {
      return { clients: (await db.read(scope, listClients())).map(toClient) };
    },
  },
  removeClient: {
    access: { action: 'client.remove', roles: ['admin', 'manager'], token: 'none', bound: false },
    handle: inTransaction(async (request, { query, audit }) => {
      const clientId = requireText('client_id', request.clientId, 1, 100);
      const [client] = await query(deleteClient(clientId));
      if (!client) throw notFound('There is no client with this id. "client list" shows those that exist.');
      await audit('client.remove', clientId);
      return { client: toClient(client) };
    }),
  },
} satisfies Partial<OperatorRpcs>;

function requireRedirectUris(uris: string[]): void {
  if (uris.length === 0 || uris.length > MAX_REDIRECT_URIS) throw invalid('redirect_uris', `must be 1 to ${MAX_REDIRECT_URIS}`);
  for (const uri of uris) {
    const problem = redirectUriProblem(requireText('redirect_uris', uri, 1, 2_000));
    if (problem) throw invalid('redirect_uris', problem);
  }
}

function toClient({ clientId, name, redirectUris, secretEncrypted, createdAt }: ClientRow): RegisteredClient {
  return { clientId, name, redirectUris, hasSecret: secretEncrypted !== null, createdAt };
}
