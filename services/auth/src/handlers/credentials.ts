import { isIP } from 'node:net';
import { digestOf, isApiKey, isScimToken } from '@crs/kit/api-key';
import type { Statement } from '@crs/kit/data/database';
import { credentialScope, directoryScope, workFor } from '@crs/kit/data/scope';
import { invalid, REASONS, ServiceError } from '@crs/kit/errors';
import { KEY_RIGHTS, type KeyRight } from '@crs/kit/rpc/key-rights';
import { rpc, type Rpcs } from '@crs/kit/rpc/server';
import type { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import { DEFAULT_ALLOWED_FIELDS } from '@crs/records/allowed-fields';
import type { Context } from '../context.ts';
import { countKeyAction, KEY_ACTIONS, type KeyAction } from '../count-action.ts';
import { invalidToken } from '../keys/access-tokens.ts';
import { findLiveKey, lookUpKey, touchKey } from '../store/api-keys.ts';
import { findLiveConsent, touchConsent } from '../store/consents.ts';
import { findLiveScimToken, lookUpScimToken, touchScimToken } from '../store/scim-tokens.ts';

const RECORD_USE_MS = 5_000;

/** Exchanges the credentials of integrators and assistants for caller tokens. */
export function credentials({ db, signer, accessTokens, log }: Context) {
  // Not awaited, so that the caller gets its response sooner.
  const recordUse = (organization: string, statement: Statement) => {
    db.run(credentialScope(organization, workFor(RECORD_USE_MS)), statement).catch((error) =>
      log.warn({ err: error }, 'use of a credential could not be recorded'),
    );
  };
  return {
    authenticateKey: rpc({ anyone: true }, async (request, call) => {
      if (!isApiKey(request.apiKey)) throw invalidKey();
      const [owner] = await db.read(directoryScope(call), lookUpKey(digestOf(request.apiKey)));
      if (!owner) throw invalidKey();
      const { organization, keyId } = owner;
      const [key] = await db.read(credentialScope(organization, call), findLiveKey(organization, keyId));
      if (!key) throw invalidKey();
      if (key.usageIsStale) recordUse(organization, touchKey(organization, keyId));
      const { writeSurface, networks } = key;
      const rights = key.rights as KeyRight[];
      const identity = {
        kind: 'organization' as const,
        organization,
        keyId,
        allowedFields: key.allowedFields ?? [...DEFAULT_ALLOWED_FIELDS],
        anonymize: key.anonymizeInterviewees,
        writeSurface,
        rights,
      };
      return {
        callerTokens: await signer.signForServices(identity, request.audiences),
        organizationId: organization,
        rateLimit: { requests: key.rateLimitRequests, periodSeconds: key.rateLimitPeriodSeconds },
        deleteLimit: key.deleteLimit,
        writeSurface,
        rights,
        networks,
        keyId,
      };
    }),

    authenticateToken: rpc({ anyone: true }, async (request, call) => {
      const { organization, grantId, userId, clientId, scopes: issuedFor } = await accessTokens.verify(request.accessToken);
      const [consent] = await db.read(credentialScope(organization, call), findLiveConsent(organization, grantId));
      if (!consent || consent.userId !== userId) throw invalidToken();
      if (consent.usageIsStale) recordUse(organization, touchConsent(organization, grantId));
      const scopes = consent.scopes.filter((scope) => issuedFor.includes(scope));
      return {
        callerTokens: await signer.signForServices({ kind: 'user', organization, userId, scopes }, request.audiences),
        organizationId: organization,
        userId,
        scopes,
        rateLimit: { requests: consent.toolRateLimitRequests, periodSeconds: consent.toolRateLimitPeriodSeconds },
        grantId,
        clientId,
      };
    }),

    authenticateScimToken: rpc({ anyone: true }, async ({ scimToken }, call) => {
      if (!isScimToken(scimToken)) throw invalidScimToken();
      const [owner] = await db.read(directoryScope(call), lookUpScimToken(digestOf(scimToken)));
      if (!owner) throw invalidScimToken();
      const { organization, tokenId } = owner;
      const [token] = await db.read(credentialScope(organization, call), findLiveScimToken(organization, tokenId));
      if (!token) throw invalidScimToken();
      if (token.usageIsStale) recordUse(organization, touchScimToken(organization, tokenId));
      return { organizationId: organization, tokenId };
    }),

    recordKeyAction: rpc({ organization: { rights: KEY_RIGHTS } }, async ({ action, address, count }, { identity }) => {
      if (!isKeyAction(action)) throw invalid('action', `must be one of ${Object.keys(KEY_ACTIONS).join(', ')}`);
      if (address !== '' && isIP(address) === 0) throw invalid('address', 'must be an IP address');
      await countKeyAction(db, identity, { action, address, count });
      return {};
    }),

    listCallerKeys: rpc({ anyone: true }, async () => {
      const keys = await signer.publicKeys();
      return { keys: [...keys].map(([keyId, publicJwk]) => ({ keyId, publicJwk })) };
    }),
  } satisfies Partial<Rpcs<AuthServiceService>>;
}

function isKeyAction(action: string): action is KeyAction {
  return Object.hasOwn(KEY_ACTIONS, action);
}

function invalidScimToken(): ServiceError {
  return new ServiceError('unauthenticated', 'The SCIM token is missing, unknown or revoked.', {
    reason: REASONS.invalidAccessToken,
  });
}

/** The error is the same for every cause, so that nobody learns whether a key existed. */
export function invalidKey(): ServiceError {
  return new ServiceError('unauthenticated', 'The API key is missing, unknown, expired or revoked.', {
    reason: REASONS.invalidApiKey,
  });
}
