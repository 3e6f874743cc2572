import type { Connection } from '@crs/crs/connection';

/** Creates a key of an organization. By default it may write and doesn't expire. */
export async function createKey(
  { auth, operator }: Connection,
  organization: string,
  options: { rights?: string[]; networks?: string[]; expiresInSeconds?: number } = {},
): Promise<string> {
  const request = { label: '', rights: [], networks: [], expiresInSeconds: 0, ...options };
  return (await auth.createKey(request, await operator(organization))).secret;
}

/** Creates an access token of a user. By default it has all scopes and the usual time to live. */
export async function createToken(
  { auth, operator }: Connection,
  organization: string,
  email: string,
  options: { scopes?: string[]; expiresInSeconds?: number } = {},
): Promise<string> {
  const request = { email, scopes: [], expiresInSeconds: 0, ...options };
  return (await auth.createToken(request, await operator(organization))).accessToken;
}
