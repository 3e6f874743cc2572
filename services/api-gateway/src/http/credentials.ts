import type { IncomingMessage } from 'node:http';
import { REASONS } from '@crs/kit/errors';
import { digestOf, isApiKey } from '@crs/kit/product/api-key';
import type { Bulkhead } from '@crs/kit/limits/bulkhead';
import type { ServiceClient } from '@crs/kit/rpc/client';
import { credentialPrefix } from '@crs/kit/http/register';
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
    const key = keyOf(authorization);
    if (key === undefined) throw unauthorized();
    return this.#remembered.get(digestOf(key).toString('base64'), key, bearer);
  }

  /**
   * Auth's answer about a key, without waiting. It is empty for a credential that auth refuses, or that can't be a key; undefined where auth
   * has to be asked.
   * @param digest see {@link readCredential}
   */
  recall(
    digest: string | undefined,
    request: IncomingMessage,
    address: string,
  ): { answer?: AuthenticateKeyResponse } | undefined {
    if (digest === undefined) return {};
    const known = this.#remembered.recall(digest, () => keyOf(request.headers.authorization)!, address);
    if (!known?.refusal) return known;
    return known.refusal.reason === REASONS.invalidApiKey ? {} : undefined;
  }

  /** Whether auth's latest answer about a key was good. @param digest see {@link readCredential} */
  isKnown(digest: string): boolean {
    return this.#remembered.isKnown(digest);
  }
}

/** The API key of a request; undefined where there is none, or text that can't be a key. */
function keyOf(authorization = ''): string | undefined {
  const key = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
  return key !== undefined && isApiKey(key) ? key : undefined;
}

/** The digest of a request's API key, if there is one, and the prefix by which the log names the credential. */
export function readCredential(authorization: string | undefined): { digest: string | undefined; prefix: string | undefined } {
  const key = keyOf(authorization);
  return { digest: key && digestOf(key).toString('base64'), prefix: credentialPrefix(authorization) };
}
