import { client } from '@crs/kit/rpc/client';
import { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import { createToken } from './credentials.ts';
import type { World } from './world.ts';

/** Creates caller tokens of a user, valid for 30 seconds, like those that the tool gateway gets for an access token. */
export async function userToken(world: World, organization: string, email: string): Promise<{ token: Record<string, string> }> {
  const accessToken = await createToken(world.operator, organization, email);
  const auth = client(AuthServiceService, { name: 'auth', address: world.stack.addresses.auth, timeoutMs: 5_000, retry: false });
  try {
    return { token: (await auth.authenticateToken({ accessToken, audiences: ['calls', 'projects', 'entities'] })).callerTokens };
  } finally {
    auth.close();
  }
}
