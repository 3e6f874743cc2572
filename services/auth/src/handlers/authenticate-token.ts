import { credentialScope, workFor } from '@crs/kit/data/scope';
import { rpc } from '@crs/kit/rpc/server';
import type { AuthenticateTokenRequest, AuthenticateTokenResponse } from '@crs/proto/crs/auth/v1/auth';
import type { Context } from '../context.ts';
import { invalidToken } from '../keys/access-tokens.ts';
import { signCallerTokens } from '../keys/caller-tokens.ts';
import { findLiveConsent, touchConsent } from '../store/consents.ts';

export function authenticateToken({ db, signer, accessTokens, log }: Context) {
  return rpc({ anyone: true }, async (request: AuthenticateTokenRequest, call): Promise<AuthenticateTokenResponse> => {
    const { organization, grantId, userId, clientId, scopes: issuedFor } = await accessTokens.verify(request.accessToken);
    const [consent] = await db.read(credentialScope(organization, call), findLiveConsent(organization, grantId));
    if (!consent || consent.userId !== userId) throw invalidToken();
    if (consent.useIsNews) {
      db.run(credentialScope(organization, workFor(5_000)), touchConsent(organization, grantId)).catch((error) =>
        log.warn({ err: error }, 'use of a consent could not be noted'),
      );
    }
    const scopes = consent.scopes.filter((scope) => issuedFor.includes(scope));
    const { toolRateLimitRequests: requests, toolRateLimitPeriodSeconds: periodSeconds } = consent;
    return {
      ...(await signCallerTokens(signer, { kind: 'user', organization, userId, scopes }, request.audiences)),
      organizationId: organization,
      userId,
      scopes,
      rateLimit: { requests, periodSeconds },
      grantId,
      clientId,
    };
  });
}
