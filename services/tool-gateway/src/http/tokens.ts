import { digestOf } from '@crs/kit/api-key';
import { ServiceError } from '@crs/kit/errors';
import type { ServiceClient } from '@crs/kit/rpc/client';
import { Refusal } from '@crs/kit/http/refusal';
import { CredentialCache, type Bearer } from '@crs/kit/http/credential-cache';
import type { LookUps } from '@crs/kit/http/look-ups';
import { OAUTH_SCOPES } from '@crs/kit/rpc/scopes';
import type { AuthenticateTokenResponse, AuthServiceService } from '@crs/proto/crs/auth/v1/auth';

/** The services that the tools call. */
const SERVICES = ['calls', 'projects', 'entities'];

/** Exchanges access tokens for caller tokens. Calls auth once a second for a token in use. */
export class Tokens {
  readonly #cache: CredentialCache<AuthenticateTokenResponse>;
  readonly #metadataUrl: string;
  readonly #missing: Refusal;
  readonly #invalid: Refusal;

  constructor(auth: ServiceClient<AuthServiceService>, publicUrl: string, lookUps: LookUps) {
    this.#cache = new CredentialCache(
      (accessToken, call) => auth.authenticateToken({ accessToken, audiences: SERVICES }, call),
      lookUps,
    );
    this.#metadataUrl = `${publicUrl}/.well-known/oauth-protected-resource/mcp`;
    // RFC 6750: no error code if the request has no credential.
    this.#missing = this.#unauthorized('');
    this.#invalid = this.#unauthorized('error="invalid_token", ');
  }

  /** @throws Refusal 401, or ServiceError if auth is unavailable */
  async resolve(authorization: string | undefined, bearer: Bearer): Promise<AuthenticateTokenResponse> {
    const token = tokenOf(authorization);
    if (token === undefined) throw authorization === undefined ? this.#missing : this.#invalid;
    try {
      return await this.#cache.get(digestOf(token).toString('base64'), token, bearer);
    } catch (error) {
      if (error instanceof ServiceError && error.kind === 'unauthenticated') throw this.#invalid;
      throw error;
    }
  }

  #unauthorized(error: string): Refusal {
    const challenge = this.#challenge(error, OAUTH_SCOPES.join(' '));
    return new Refusal(401, 'unauthorized', 'Sign in: a valid access token is required.', { 'WWW-Authenticate': challenge });
  }

  /** Returns an HTTP refusal, because clients request a missing scope only in response to a 403, not to a tool's result. */
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
