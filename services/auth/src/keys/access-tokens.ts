import { decodeProtectedHeader, errors, jwtVerify, SignJWT } from 'jose';
import type { Query } from '@crs/kit/data/database';
import { REASONS, ServiceError, unavailable } from '@crs/kit/errors';
import { ORGANIZATION_ID } from '@crs/kit/text';
import { protectUntil } from '../store/key-pairs.ts';
import { ALGORITHM, type KeyPair, type KeyRing } from './key-ring.ts';

/** The claims of an access token. */
interface AccessToken {
  organization: string;
  grantId: string;
  userId: string;
  /** The scopes that the token was issued for. Its consent may have more. */
  scopes: string[];
}

/** Signs and verifies access tokens (RFC 9068) for the tools. */
export class AccessTokens {
  readonly #ring: KeyRing;
  readonly #publicUrl: string;

  /** @param publicUrl origin of the tool gateway: the issuer, and with `/mcp` the audience */
  constructor(ring: KeyRing, publicUrl: string) {
    this.#ring = ring;
    this.#publicUrl = publicUrl;
  }

  get audience(): string {
    return `${this.#publicUrl}/mcp`;
  }

  /** Also prevents the retirement of the signing key before the token expires. */
  async sign(query: Query, { organization, grantId, userId, scopes }: AccessToken, expiresAt: Date): Promise<string> {
    const { keyId, privateKey } = await this.#ring.current();
    const [kept] = await query(protectUntil(keyId, expiresAt));
    if (!kept) throw unavailable('The signing key was retired at this moment.');
    return new SignJWT({ organization, grant_id: grantId, scope: scopes.join(' ') })
      .setProtectedHeader({ alg: ALGORITHM, kid: keyId, typ: 'at+jwt' })
      .setIssuer(this.#publicUrl)
      .setAudience(this.audience)
      .setSubject(userId)
      .setIssuedAt()
      .setExpirationTime(expiresAt)
      .setJti(grantId)
      .sign(privateKey);
  }

  /** For the authorization server. The first key signs, as in {@link sign}. */
  async keys(): Promise<KeyPair[]> {
    const current = await this.#ring.current();
    return [current, ...(await this.#ring.keys()).filter(({ keyId }) => keyId !== current.keyId)];
  }

  /**
   * Checks signature, audience and expiry, but not whether the token's consent still exists.
   * @returns the claims. `clientId` is the OAuth client that the token was issued to; empty if an operator issued it
   * @throws ServiceError unauthenticated
   */
  async verify(token: string): Promise<AccessToken & { clientId: string }> {
    try {
      const { kid } = decodeProtectedHeader(token);
      const key = (await this.#ring.keys()).find(({ keyId }) => keyId === kid);
      if (!key) throw invalidToken();
      const { payload } = await jwtVerify(token, key.publicKey, {
        issuer: this.#publicUrl,
        audience: this.audience,
        algorithms: [ALGORITHM],
        typ: 'at+jwt',
      });
      const { organization, grant_id: grantId, sub: userId, client_id: clientId, scope } = payload;
      if (typeof organization !== 'string' || !ORGANIZATION_ID.test(organization)) throw invalidToken();
      if (typeof grantId !== 'string' || typeof scope !== 'string' || userId === undefined) throw invalidToken();
      return { organization, grantId, userId, scopes: scope.split(' '), clientId: typeof clientId === 'string' ? clientId : '' };
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      // `decodeProtectedHeader` throws TypeError. Other errors are ours, such as a database that is down.
      if (error instanceof errors.JOSEError || error instanceof TypeError) throw invalidToken(error);
      throw error;
    }
  }
}

export function invalidToken(cause?: unknown): ServiceError {
  return new ServiceError('unauthenticated', 'The access token is unknown, expired or revoked.', {
    reason: REASONS.invalidAccessToken,
    cause,
  });
}
