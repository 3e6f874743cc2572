import { callerScope } from '@crs/kit/data/scope';
import { invalid } from '@crs/kit/errors';
import { createApiKey, digestOf, randomBase62 } from '@crs/kit/product/api-key';
import { rpc } from '@crs/kit/rpc/server';
import type { CreateKeyRequest, CreateKeyResponse } from '@crs/proto/crs/auth/v1/admin';
import { toApiKey } from '../../answers.ts';
import type { Context } from '../../context.ts';
import { noSuchOrganization } from '../../domain/not-found.ts';
import { requireText } from '../../domain/settings.ts';
import { insertApiKey } from '../../store/api-keys.ts';
import { operatorEntry } from '../../store/audit.ts';
import { organizationExists } from '../../store/organizations.ts';

/** Enough to recognize a key, too little to use it. */
const PREFIX_LENGTH = 10;
const MAX_SECONDS = 100 * 365 * 86_400;

export function createKey({ db }: Context) {
  return rpc(['operator'], async (request: CreateKeyRequest, call): Promise<CreateKeyResponse> => {
    const scope = callerScope(call);
    const label = requireText('label', request.label, 0, 100);
    if (request.expiresInSeconds > MAX_SECONDS) throw invalid('expires_in', 'must be at most 36500 days');
    const secret = createApiKey();
    return db.transact(scope, async (query) => {
      const [known] = await query(organizationExists(scope.organization));
      if (!known) throw noSuchOrganization();
      const key = await insertApiKey(query, scope.organization, {
        keyId: `key_${randomBase62(16)}`,
        digest: digestOf(secret),
        prefix: secret.slice(0, PREFIX_LENGTH),
        label,
        readOnly: request.readOnly,
        expiresInSeconds: request.expiresInSeconds,
      });
      await query(operatorEntry(call.identity, 'key.create', key.keyId));
      return { apiKey: toApiKey(key), secret };
    });
  });
}
