import { randomBase62 } from '@crs/kit/api-key';
import { invalid, notFound, ServiceError } from '@crs/kit/errors';
import { OAUTH_SCOPES } from '@crs/kit/rpc/scopes';
import type { Token } from '@crs/proto/crs/auth/v1/admin';
import { requireText } from '../../domain/settings.ts';
import { insertConsent, listConsents, revokeConsent, type ConsentRow } from '../../store/consents.ts';
import { requireOrganization } from '../../store/organizations.ts';
import { lockEnabledUser, requireUser } from '../../store/users.ts';
import { inTransaction, type OperatorRpcs } from './operator-rpcs.ts';

const DEFAULT_SECONDS = 30 * 86_400;
const MAX_SECONDS = 10 * 365 * 86_400;

/** Each token stands for a consent of a user: one that an operator created, or one to an assistant. */
export const tokens = {
  createToken: {
    access: { action: 'token.create', roles: ['admin', 'manager'], token: 'one', bound: true },
    handle: inTransaction(async (request, { accessTokens, organization, query, audit }) => {
      const scopes = parseScopes(request.scopes);
      if (request.expiresInSeconds > MAX_SECONDS) throw invalid('expires_in', 'must be at most 3650 days');
      const { userId, email } = await requireUser(query, organization, request.email);
      const [enabled] = await query(lockEnabledUser(organization, userId));
      if (!enabled) {
        throw new ServiceError('failed_precondition', 'The user is disabled. Enable them first.', { field: 'email' });
      }
      const grantId = `grant_${randomBase62(16)}`;
      const expiresInSeconds = request.expiresInSeconds || DEFAULT_SECONDS;
      const grant = { kind: 'operator', clientId: null, client: 'crs token create' } as const;
      const [inserted] = await query(insertConsent(organization, { ...grant, grantId, userId, scopes, expiresInSeconds }));
      await audit('token.create', `${grantId} ${email}`);
      const accessToken = await accessTokens.sign(query, { organization, grantId, userId, scopes }, inserted!.expiresAt);
      return { token: toToken(inserted!), accessToken };
    }),
  },
  listTokens: {
    access: { action: 'token.list', roles: ['admin', 'manager', 'viewer', 'auditor'], token: 'one', bound: true },
    handle: inTransaction(async (_request, { organization, query }) => {
      await requireOrganization(query, organization);
      return { tokens: (await query(listConsents(organization))).map(toToken) };
    }),
  },
  revokeToken: {
    access: { action: 'token.revoke', roles: ['admin', 'manager'], token: 'one', bound: true },
    handle: inTransaction(async (request, { organization, query, audit }) => {
      const tokenId = requireText('token_id', request.tokenId, 1, 100);
      const consent = await revokeConsent(query, organization, tokenId);
      if (!consent) {
        throw notFound('There is no token with this id in this organization. "token list" shows those that exist.');
      }
      await audit('token.revoke', consent.grantId);
      return { token: toToken(consent) };
    }),
  },
} satisfies Partial<OperatorRpcs>;

function parseScopes(names: readonly string[]): string[] {
  if (names.length === 0) return [...OAUTH_SCOPES];
  if (!names.every((name) => (OAUTH_SCOPES as readonly string[]).includes(name))) {
    throw invalid('scope', `must be of ${OAUTH_SCOPES.join(', ')}`);
  }
  return OAUTH_SCOPES.filter((scope) => names.includes(scope));
}

function toToken({ grantId, kind, email, client, scopes, createdAt, expiresAt, revokedAt }: ConsentRow): Token {
  return { tokenId: grantId, kind, email, client, scopes, createdAt, expiresAt, revokedAt: revokedAt ?? undefined };
}
