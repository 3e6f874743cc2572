import { credentialScope, workFor } from '@crs/kit/data/scope';
import { rpc } from '@crs/kit/rpc/server';
import type { AuthenticateTokenRequest, AuthenticateTokenResponse } from '@crs/proto/crs/auth/v1/auth';
import type { Context } from '../context.ts';
import { invalidToken } from '../domain/access-tokens.ts';
import { findLiveGrant, touchGrant, type LiveGrantRow } from '../store/grants.ts';

/** Longer than a gateway may reuse it (1 s) and than any request takes. */
const TOKEN_SECONDS = 30;

export function authenticateToken({ db, signer, accessTokens, log }: Context) {
  return rpc(['anyone'], async (request: AuthenticateTokenRequest, call): Promise<AuthenticateTokenResponse> => {
    const { organization, grantId, userId, scopes: issuedFor } = await accessTokens.verify(request.accessToken);
    const [grant] = await db.read<LiveGrantRow>(credentialScope(organization, call), findLiveGrant(organization, grantId));
    if (!grant || grant.userId !== userId) throw invalidToken();
    if (grant.useIsNews) {
      const scope = credentialScope(organization, workFor(5_000));
      db.run(scope, touchGrant(organization, grantId)).catch((error) =>
        log.warn({ err: error }, 'use of a grant could not be noted'),
      );
    }
    const scopes = grant.scopes.filter((scope) => issuedFor.includes(scope));
    const { toolRateLimitRequests: requests, toolRateLimitPeriodSeconds: periodSeconds } = grant;
    return {
      callerToken: await signer.sign({ kind: 'user', organization, userId, scopes }, TOKEN_SECONDS),
      organizationId: organization,
      userId,
      scopes,
      rateLimit: { requests, periodSeconds },
    };
  });
}
