import { invalid } from '@crs/kit/errors';
import type { OrganizationIdentity, UserIdentity } from '@crs/kit/rpc/identity';
import type { Signer } from './signer.ts';

/** Longer than a gateway reuses the tokens (1 s) and any request takes. */
const TOKEN_SECONDS = 30;
const MAX_AUDIENCES = 10;
const SERVICE_NAME = /^[a-z][a-z-]{0,39}$/;

/**
 * The caller tokens in an answer to a gateway: one for each service that it names. A gateway of the previous version names none, and gets
 * one token for all services.
 */
export async function signCallerTokens(
  signer: Signer,
  identity: OrganizationIdentity | UserIdentity,
  audiences: string[],
): Promise<{ callerToken: string; callerTokens: Record<string, string> }> {
  if (audiences.length === 0) return { callerToken: await signer.sign(identity, TOKEN_SECONDS), callerTokens: {} };
  if (audiences.length > MAX_AUDIENCES || !audiences.every((name) => SERVICE_NAME.test(name))) {
    throw invalid('audiences', `must be at most ${MAX_AUDIENCES} names of services`);
  }
  const tokens = await Promise.all(
    audiences.map(async (service) => [service, await signer.sign(identity, TOKEN_SECONDS, service)] as const),
  );
  return { callerToken: '', callerTokens: Object.fromEntries(tokens) };
}
