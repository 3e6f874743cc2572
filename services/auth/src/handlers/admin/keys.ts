import { createApiKey, digestOf, randomBase62 } from '@crs/kit/api-key';
import { invalid, notFound } from '@crs/kit/errors';
import type { ApiKey } from '@crs/proto/crs/auth/v1/auth';
import { parseKeyNetworks, parseRights } from '../../domain/key-rights.ts';
import { requireText } from '../../domain/settings.ts';
import { insertApiKey, listApiKeys, revokeApiKey, type ApiKeyRow } from '../../store/api-keys.ts';
import { requireOrganization } from '../../store/organizations.ts';
import { inTransaction, type OperatorRpcs } from './operator-rpcs.ts';

/** Enough to recognize a key, too little to use it. */
const PREFIX_LENGTH = 10;
const MAX_SECONDS = 100 * 365 * 86_400;

export const keys = {
  createKey: {
    access: { action: 'key.create', roles: ['admin', 'manager'], token: 'one', bound: true },
    handle: inTransaction(async (request, { organization, query, audit }) => {
      const label = requireText('label', request.label, 0, 100);
      if (request.expiresInSeconds > MAX_SECONDS) throw invalid('expires_in', 'must be at most 36500 days');
      const secret = createApiKey();
      await requireOrganization(query, organization);
      const inserted = await insertApiKey(query, organization, {
        keyId: `key_${randomBase62(16)}`,
        digest: digestOf(secret),
        prefix: secret.slice(0, PREFIX_LENGTH),
        label,
        rights: parseRights(request.rights),
        networks: parseKeyNetworks(request.networks),
        expiresInSeconds: request.expiresInSeconds,
      });
      const key = inserted!;
      await audit('key.create', key.keyId);
      return { apiKey: toApiKey(key), secret };
    }),
  },
  listKeys: {
    access: { action: 'key.list', roles: ['admin', 'manager', 'viewer', 'auditor'], token: 'one', bound: true },
    handle: inTransaction(async (_request, { organization, query }) => {
      await requireOrganization(query, organization);
      return { apiKeys: (await query(listApiKeys(organization))).map(toApiKey) };
    }),
  },
  revokeKey: {
    access: { action: 'key.revoke', roles: ['admin', 'manager'], token: 'one', bound: true },
    handle: inTransaction(async (request, { organization, query, audit }) => {
      const keyId = requireText('key_id', request.keyId, 1, 100);
      const [key] = await query(revokeApiKey(organization, keyId));
      if (!key) throw notFound('There is no key with this id in this organization. "key list" shows those that exist.');
      await audit('key.revoke', key.keyId);
      return { apiKey: toApiKey(key) };
    }),
  },
} satisfies Partial<OperatorRpcs>;

function toApiKey({ expiresAt, revokedAt, lastUsedAt, ...key }: ApiKeyRow): ApiKey {
  return {
    ...key,
    expiresAt: expiresAt ?? undefined,
    revokedAt: revokedAt ?? undefined,
    lastUsedAt: lastUsedAt ?? undefined,
  };
}
