import { decodeProtectedHeader, jwtVerify, SignJWT, type JWK } from 'jose';
import type { Database, Query } from '@crs/kit/data/database';
import { directoryScope, workFor } from '@crs/kit/data/scope';
import { REASONS, ServiceError } from '@crs/kit/errors';
import { ORGANIZATION_ID } from '@crs/kit/text';
import { ALGORITHM, KeyPairs, type KeyPair } from './key-pairs.ts';

/** The claims of an access token. Its consent may have been revoked since. */
export interface AccessToken {
  organization: string;
  grantId: string;
  userId: string;
  /** The scopes that the token was issued for; its consent may have more. */
  scopes: string[];
}

export interface VerifiedToken extends AccessToken {
  /** The OAuth client that the token was issued to. Empty: an operator issued the token. */
  clientId: string;
}

/** Signs and verifies access tokens (RFC 9068) for the tools, with keys that all replicas share through the database. */
export class AccessTokens {
  readonly #db: Database;
  readonly #pairs: KeyPairs;
  readonly #publicUrl: string;
  /** Newest first: the first one signs. */
  #keys: KeyPair[] = [];

  /** @param publicUrl origin of the tool gateway: the issuer, and with `/mcp` the audience */
  constructor(db: Database, secret: string, publicUrl: string) {
    this.#db = db;
    this.#pairs = new KeyPairs('token_key', secret);
    this.#publicUrl = publicUrl;
  }

  get audience(): string {
    return `${this.#publicUrl}/mcp`;
  }

  async sign({ organization, grantId, userId, scopes }: AccessToken, expiresAt: Date): Promise<string> {
    if (this.#keys.length === 0) await this.#load();
    const { keyId, privateKey } = this.#keys[0]!;
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

  /** For the authorization server, which signs with the first of these keys, as {@link sign} does. */
  async privateJwks(): Promise<JWK[]> {
    if (this.#keys.length === 0) await this.#load();
    return this.#keys.map(({ keyId, privateKey }) => {
      return { ...privateKey.export({ format: 'jwk' }), kid: keyId, alg: ALGORITHM, use: 'sig' };
    });
  }

  /** Makes a new key. Replicas sign with it once they have restarted; tokens of earlier keys stay good. @returns its id */
  rotate(query: Query): Promise<string> {
    return this.#pairs.create(query);
  }

  /** @throws ServiceError unauthenticated for a token that isn't ours, isn't for the tools or has expired */
  async verify(token: string): Promise<VerifiedToken> {
    try {
      const { kid } = decodeProtectedHeader(token);
      const find = () => this.#keys.find(({ keyId }) => keyId === kid);
      if (!find()) await this.#load();
      const key = find();
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
      // An unreadable token is the client's fault. Other errors are ours, such as a database that is away.
      if (error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_J')) throw invalidToken(error);
      if (error instanceof TypeError) throw invalidToken(error);
      throw error;
    }
  }

  async #load(): Promise<void> {
    this.#keys = await this.#db.transact(directoryScope(workFor(5_000)), async (query) => {
      const found = await this.#pairs.list(query);
      if (found.length > 0) return found;
      await this.#pairs.lock(query);
      // Another replica may have made the first key while this one waited for the lock.
      if ((await this.#pairs.list(query)).length === 0) await this.#pairs.create(query);
      return this.#pairs.list(query);
    });
  }
}

export function invalidToken(cause?: unknown): ServiceError {
  return new ServiceError('unauthenticated', 'The access token is unknown, expired or revoked.', {
    reason: REASONS.invalidAccessToken,
    cause,
  });
}
