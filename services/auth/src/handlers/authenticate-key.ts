import { credentialScope, directoryScope, workFor } from '@crs/kit/data/scope';
import { REASONS, ServiceError } from '@crs/kit/errors';
import { DEFAULT_ALLOWED_FIELDS } from '@crs/records/allowed-fields';
import { digestOf, isApiKey } from '@crs/kit/api-key';
import { rpc } from '@crs/kit/rpc/server';
import type { AuthenticateKeyRequest, AuthenticateKeyResponse } from '@crs/proto/crs/auth/v1/auth';
import type { Context } from '../context.ts';
import { signCallerTokens } from '../keys/caller-tokens.ts';
import { findLiveKey, lookUpKey, touchKey } from '../store/api-keys.ts';

export function authenticateKey({ db, signer, log }: Context) {
  return rpc({ anyone: true }, async (request: AuthenticateKeyRequest, call): Promise<AuthenticateKeyResponse> => {
    if (!isApiKey(request.apiKey)) throw invalidKey();
    const [owner] = await db.read(directoryScope(call), lookUpKey(digestOf(request.apiKey)));
    if (!owner) throw invalidKey();
    const { organization } = owner;
    const [key] = await db.read(credentialScope(organization, call), findLiveKey(organization, owner.keyId));
    if (!key) throw invalidKey();
    if (key.useIsNews) {
      db.run(credentialScope(organization, workFor(5_000)), touchKey(organization, key.keyId)).catch((error) =>
        log.warn({ err: error }, 'use of a key could not be noted'),
      );
    }
    const tokens = await signCallerTokens(
      signer,
      {
        kind: 'organization',
        organization,
        keyId: key.keyId,
        allowedFields: key.allowedFields ?? [...DEFAULT_ALLOWED_FIELDS],
        anonymize: key.anonymizeInterviewees,
        writeSurface: key.writeSurface,
        readOnly: key.readOnly,
      },
      request.audiences,
    );
    return {
      ...tokens,
      organizationId: organization,
      rateLimit: { requests: key.rateLimitRequests, periodSeconds: key.rateLimitPeriodSeconds },
      writeSurface: key.writeSurface,
      readOnly: key.readOnly,
      keyId: key.keyId,
    };
  });
}

/** The answer is the same for every cause, so that nobody learns whether a key existed. */
export function invalidKey(): ServiceError {
  return new ServiceError('unauthenticated', 'The API key is missing, unknown, expired or revoked.', {
    reason: REASONS.invalidApiKey,
  });
}
