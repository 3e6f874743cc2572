import { DEFAULT_ALLOWED_FIELDS } from '@crs/kit/product/allowed-fields';
import { digestOf, isApiKey } from '@crs/kit/product/api-key';
import { REASONS, ServiceError } from '@crs/kit/errors';
import { credentialScope, directoryScope, workFor } from '@crs/kit/data/scope';
import { rpc } from '@crs/kit/rpc/server';
import type { AuthenticateKeyRequest, AuthenticateKeyResponse } from '@crs/proto/crs/auth/v1/auth';
import type { Context } from '../context.ts';
import { findLiveKey, lookUpKey, touchKey, type LiveKeyRow } from '../store/api-keys.ts';

/** Longer than a gateway may reuse it (1 s) and than any request takes. */
const TOKEN_SECONDS = 30;

export function authenticateKey({ db, signer, log }: Context) {
  return rpc(['anyone'], async (request: AuthenticateKeyRequest, call): Promise<AuthenticateKeyResponse> => {
    if (!isApiKey(request.apiKey)) throw invalidKey();
    const [owner] = await db.read<{ organization: string; keyId: string }>(
      directoryScope(call),
      lookUpKey(digestOf(request.apiKey)),
    );
    if (!owner) throw invalidKey();
    const [key] = await db.read<LiveKeyRow>(
      credentialScope(owner.organization, call),
      findLiveKey(owner.organization, owner.keyId),
    );
    if (!key) throw invalidKey();
    if (key.useIsNews) {
      const scope = credentialScope(key.organization, workFor(5_000));
      db.run(scope, touchKey(key.organization, key.keyId)).catch((error) =>
        log.warn({ err: error }, 'use of a key could not be noted'),
      );
    }
    const callerToken = await signer.sign(
      {
        kind: 'organization',
        organization: key.organization,
        keyId: key.keyId,
        allowedFields: key.allowedFields ?? [...DEFAULT_ALLOWED_FIELDS],
        anonymize: key.anonymizeInterviewees,
        writeSurface: key.writeSurface,
        readOnly: key.readOnly,
      },
      TOKEN_SECONDS,
    );
    return {
      callerToken,
      organizationId: key.organization,
      rateLimit: { requests: key.rateLimitRequests, periodSeconds: key.rateLimitPeriodSeconds },
      writeSurface: key.writeSurface,
      readOnly: key.readOnly,
    };
  });
}

/** One answer whatever is wrong, so that a key can't be told to have existed. */
function invalidKey(): ServiceError {
  return new ServiceError('unauthenticated', 'The API key is missing, unknown, expired or revoked.', {
    reason: REASONS.invalidApiKey,
  });
}
