import type { IncomingMessage } from 'node:http';
import { digestOf } from '@crs/kit/product/api-key';
import { ServiceError } from '@crs/kit/errors';
import type { Bulkhead } from '@crs/kit/limits/bulkhead';
import type { ServiceClient } from '@crs/kit/rpc/client';
import { Refusal } from '@crs/kit/http/refusal';
import { credentialPrefix } from '@crs/kit/http/register';
import { Remembered, type Bearer, type Recollection } from '@crs/kit/http/remembered';
import { OAUTH_SCOPES } from '@crs/kit/product/scopes';
import type { AuthenticateTokenResponse, AuthServiceService } from '@crs/proto/crs/auth/v1/auth';

/** The services that the tools call. */
const SERVICES = ['calls', 'projects', 'entities'];

const NO_TOKEN = { refusal: new ServiceError('unauthenticated', 'No token was sent.') };

/** Turns access tokens into caller tokens: auth is asked once a second for a token in use. */
export class Tokens {
  readonly #remembered: Remembered<AuthenticateTokenResponse>;
  readonly #metadataUrl: string;
  readonly #missing: Refusal;
  readonly #invalid: Refusal;

  constructor(auth: ServiceClient<AuthServiceService>, publicUrl: string, strangers: Bulkhead) {
    this.#remembered = new Remembered(
      (accessToken, call) => auth.authenticateToken({ accessToken, audiences: SERVICES }, call),
      strangers,
    );
    this.#metadataUrl = `${publicUrl}/.well-known/oauth-protected-resource/mcp`;
    // RFC 6750: no error code where no credential was sent.
    this.#missing = this.#unauthorized('');
    this.#invalid = this.#unauthorized('error="invalid_token", ');
  }

  /** @throws Refusal 401, or ServiceError where auth can't be asked */
  async resolve(authorization: string | undefined, bearer: Bearer): Promise<AuthenticateTokenResponse> {
    const token = tokenOf(authorization);
    if (token === undefined) throw this.unauthorized(authorization);
    try {
      return await this.#remembered.get(digestOf(token).toString('base64'), token, bearer);
    } catch (error) {
      if (error instanceof ServiceError && error.kind === 'unauthenticated') throw this.#invalid;
      throw error;
    }
  }

  /** The refusal of requests without a usable token. */
  unauthorized(authorization: string | undefined): Refusal {
    return authorization === undefined ? this.#missing : this.#invalid;
  }

  /**
   * Auth's answer about a token, from memory; undefined where auth has to be asked. A credential that is no token is refused.
   * @param digest see {@link readCredential}
   */
  recall(
    digest: string | undefined,
    { headers }: IncomingMessage,
    address: string,
  ): Recollection<AuthenticateTokenResponse> | undefined {
    if (digest === undefined) return NO_TOKEN;
    return this.#remembered.recall(digest, () => tokenOf(headers.authorization)!, address);
  }

  /** Whether auth's latest answer about a token was good. @param digest see {@link readCredential} */
  isKnown(digest: string): boolean {
    return this.#remembered.isKnown(digest);
  }

  #unauthorized(error: string): Refusal {
    const challenge = this.#challenge(error, OAUTH_SCOPES.join(' '));
    return new Refusal(401, 'unauthorized', 'Sign in: a valid access token is required.', { 'WWW-Authenticate': challenge });
  }

  /** An HTTP refusal: from a tool's result, clients couldn't learn that they have to ask for a scope. */
  insufficientScope(needed: string): Refusal {
    const challenge = this.#challenge('error="insufficient_scope", ', needed);
    return new Refusal(403, 'unauthorized', `This tool needs the scope ${needed}.`, { 'WWW-Authenticate': challenge });
  }

  #challenge(error: string, scope: string): string {
    return `Bearer ${error}resource_metadata="${this.#metadataUrl}", scope="${scope}"`;
  }
}

function tokenOf(authorization = ''): string | undefined {
  return /^Bearer +(\S+)$/i.exec(authorization)?.[1];
}

/** The digest of a request's token, if there is one, and the prefix by which the log names the credential. */
export function readCredential(authorization: string | undefined): { digest: string | undefined; prefix: string | undefined } {
  const token = tokenOf(authorization);
  return { digest: token && digestOf(token).toString('base64'), prefix: credentialPrefix(authorization) };
}
