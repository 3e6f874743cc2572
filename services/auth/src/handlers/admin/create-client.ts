import { randomBytes } from 'node:crypto';
import { invalid } from '@crs/kit/errors';
import { toClient } from '../../answers.ts';
import { requireText } from '../../domain/settings.ts';
import { newClientId, redirectUriProblem } from '../../sign-in/clients.ts';
import { insertClient } from '../../store/clients.ts';
import { operatorRpc } from './operator-rpc.ts';

const MAX_REDIRECT_URIS = 10;

export const createClient = operatorRpc<'createClient'>(
  { action: 'client.create', roles: ['admin', 'manager'], token: 'none', bound: false },
  async (request, { seals, transact }) => {
    const name = requireText('name', request.name, 1, 100);
    const { redirectUris } = request;
    if (redirectUris.length === 0 || redirectUris.length > MAX_REDIRECT_URIS)
      throw invalid('redirect_uris', `must be 1 to ${MAX_REDIRECT_URIS}`);
    for (const uri of redirectUris) {
      const problem = redirectUriProblem(requireText('redirect_uris', uri, 1, 2_000));
      if (problem) throw invalid('redirect_uris', problem);
    }
    const clientId = newClientId();
    const clientSecret = request.withSecret ? randomBytes(32).toString('base64url') : '';
    const secretSealed = request.withSecret ? seals.clients.seal(Buffer.from(clientSecret), clientId) : null;
    return transact(async (query, audit) => {
      const [client] = await query(insertClient({ clientId, name, redirectUris, secretSealed }));
      await audit('client.create', clientId);
      return { client: toClient(client!), clientSecret };
    });
  },
);
