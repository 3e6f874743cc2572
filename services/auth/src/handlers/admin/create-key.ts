import { invalid } from '@crs/kit/errors';
import { createApiKey, digestOf, randomBase62 } from '@crs/kit/api-key';
import { toApiKey } from '../../answers.ts';
import { noSuchOrganization } from '../../domain/not-found.ts';
import { requireText } from '../../domain/settings.ts';
import { insertApiKey } from '../../store/api-keys.ts';
import { organizationExists } from '../../store/organizations.ts';
import { operatorRpc } from './operator-rpc.ts';

/** Enough to recognize a key, too little to use it. */
const PREFIX_LENGTH = 10;
const MAX_SECONDS = 100 * 365 * 86_400;

export const createKey = operatorRpc<'createKey'>(
  { action: 'key.create', roles: ['admin', 'manager'], token: 'one', bound: true },
  async (request, { organization, transact }) => {
    const label = requireText('label', request.label, 0, 100);
    if (request.expiresInSeconds > MAX_SECONDS) throw invalid('expires_in', 'must be at most 36500 days');
    const secret = createApiKey();
    return transact(async (query, audit) => {
      const [known] = await query(organizationExists(organization));
      if (!known) throw noSuchOrganization();
      const key = await insertApiKey(query, organization, {
        keyId: `key_${randomBase62(16)}`,
        digest: digestOf(secret),
        prefix: secret.slice(0, PREFIX_LENGTH),
        label,
        readOnly: request.readOnly,
        expiresInSeconds: request.expiresInSeconds,
      });
      await audit('key.create', key.keyId);
      return { apiKey: toApiKey(key), secret };
    });
  },
);
