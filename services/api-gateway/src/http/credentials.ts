import { digestOf, isApiKey } from '@crs/kit/api-key';
import type { ServiceClient } from '@crs/kit/rpc/client';
import { CredentialCache, type Bearer } from '@crs/kit/http/credential-cache';
import type { LookUps } from '@crs/kit/http/look-ups';
import type { AuthenticateKeyResponse, AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import { unauthorized } from './refusal.ts';

/** The services that the routes call. */
const SERVICES = ['calls', 'projects'];

/** Turns API keys into caller tokens. Auth is asked once a second for a key in use, and never for text that can't be a key. */
export class Credentials {
  readonly #cache: CredentialCache<AuthenticateKeyResponse>;

  constructor(auth: ServiceClient<AuthServiceService>, lookUps: LookUps) {
    this.#cache = new CredentialCache((apiKey, call) => auth.authenticateKey({ apiKey, audiences: SERVICES }, call), lookUps);
  }

  /** @throws Refusal 401, or ServiceError where auth can't be asked */
  async resolve(authorization: string | undefined, bearer: Bearer): Promise<AuthenticateKeyResponse> {
    const key = keyOf(authorization);
    if (key === undefined) throw unauthorized();
    return this.#cache.get(digestOf(key).toString('base64'), key, bearer);
  }
}

/** The API key of a request; undefined where there is none, or text that can't be a key. */
function keyOf(authorization = ''): string | undefined {
  const key = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
  return key !== undefined && isApiKey(key) ? key : undefined;
}
