import { digestOf, isApiKey } from '@crs/kit/product/api-key';
import type { Bulkhead } from '@crs/kit/limits/bulkhead';
import type { ServiceClient } from '@crs/kit/rpc/client';
import { Remembered, type Bearer } from '@crs/kit/http/remembered';
import type { AuthenticateKeyResponse, AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import { unauthorized } from './refusal.ts';

/** The services that the routes call. */
const SERVICES = ['calls', 'projects'];

/** Turns API keys into caller tokens. Auth is asked once a second for a key in use, and never for text that can't be a key. */
export class Credentials {
  readonly #remembered: Remembered<AuthenticateKeyResponse>;

  constructor(auth: ServiceClient<AuthServiceService>, strangers: Bulkhead) {
    this.#remembered = new Remembered((apiKey, call) => auth.authenticateKey({ apiKey, audiences: SERVICES }, call), strangers);
  }

  /** @throws Refusal 401, or ServiceError where auth can't be asked */
  async resolve(authorization: string | undefined, bearer: Bearer): Promise<AuthenticateKeyResponse> {
    const key = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
    if (key === undefined || !isApiKey(key)) throw unauthorized();
    return this.#remembered.get(digestOf(key).toString('base64'), key, bearer);
  }
}
