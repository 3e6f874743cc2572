import { invalid } from '@crs/kit/errors';
import type { OrganizationIdentity, UserIdentity } from '@crs/kit/rpc/identity';
import type { Signer } from './signer.ts';

/** Longer than a gateway reuses the tokens (1 s) and any request takes. */
const TOKEN_SECONDS = 30;
const MAX_AUDIENCES = 10;
const SERVICE_NAME = /^[a-z][a-z-]{0,39}$/;

/** The caller tokens in a response to a gateway: one for each service that it names. @throws ServiceError invalid_argument */
export async function signCallerTokens(
  signer: Signer,
  identity: OrganizationIdentity | UserIdentity,
  audiences: string[],
): Promise<{ callerTokens: Record<string, string> }> {
  if (audiences.length === 0 || audiences.length > MAX_AUDIENCES || !audiences.every((name) => SERVICE_NAME.test(name))) {
    throw invalid('audiences', `must be 1 to ${MAX_AUDIENCES} names of services`);
  }
  const tokens = await Promise.all(
    audiences.map(async (service) => [service, await signer.sign(identity, TOKEN_SECONDS, service)] as const),
  );
  return { callerTokens: Object.fromEntries(tokens) };
}
