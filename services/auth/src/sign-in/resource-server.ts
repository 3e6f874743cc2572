import type { ResourceServer } from 'oidc-provider';
import { OAUTH_SCOPES } from '@crs/kit/rpc/scopes';
import { ALGORITHM } from '../keys/key-ring.ts';

/** The tools, which all access tokens are for. */
export const TOOLS: ResourceServer = {
  scope: OAUTH_SCOPES.join(' '),
  accessTokenFormat: 'jwt',
  jwt: { sign: { alg: ALGORITHM } },
};
