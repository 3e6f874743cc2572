import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { decodeProtectedHeader, importJWK, importPKCS8, jwtVerify, SignJWT, type CryptoKey, type JWK } from 'jose';
import type { Database, Query } from '@crs/kit/data/database';
import { directoryScope, workFor } from '@crs/kit/data/scope';
import { REASONS, ServiceError } from '@crs/kit/errors';
import { ORGANIZATION_ID } from '@crs/kit/text';
import { insertTokenKey, listTokenKeys, lockTokenKeys, type TokenKeyRow } from '../store/token-keys.ts';
import { Seal } from '@crs/kit/data/seal';

/** Scopes of the tools; there are no others. */
export const SCOPES = ['calls:read', 'projects:read', 'entities:read'] as const;

/** What an access token says. Whether its grant still stands is another question. */
export interface AccessToken {
  organization: string;
  grantId: string;
  userId: string;
  /** What it was issued for; its grant may be for more. */
  scopes: string[];
}

export const ALGORITHM = 'EdDSA';

/** Signs and verifies access tokens (RFC 9068) for the tools, with keys that all replicas share through the database. */
export class AccessTokens {
  readonly #db: Database;
  readonly #seal: Seal;
  readonly #publicUrl: string;
  #keys: { keyId: string; publicKey: CryptoKey; privateKey: CryptoKey; privateJwk: JWK }[] = [];

  /** @param publicUrl origin of the tool gateway: the issuer, and with `/mcp` the audience */
  constructor(db: Database, secret: string, publicUrl: string) {
    this.#db = db;
    this.#seal = new Seal(secret, 'token-keys');
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

  /** For the authorization server, which signs as we do: the first one signs. */
  async privateJwks(): Promise<JWK[]> {
    if (this.#keys.length === 0) await this.#load();
    return this.#keys.map(({ privateJwk }) => privateJwk);
  }

  /** A new key. Replicas sign with it once they have restarted; tokens of the keys before stay good. @returns its id */
  async rotate(query: Query): Promise<string> {
    const created = this.#create();
    await insertTokenKey(query, created);
    return created.keyId;
  }

  /** @throws ServiceError unauthenticated for any token that isn't ours, isn't for the tools or has expired */
  async verify(token: string): Promise<AccessToken> {
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
      const { organization, grant_id: grantId, sub: userId, scope } = payload;
      if (typeof organization !== 'string' || !ORGANIZATION_ID.test(organization)) throw invalidToken();
      if (typeof grantId !== 'string' || typeof scope !== 'string' || userId === undefined) throw invalidToken();
      return { organization, grantId, userId, scopes: scope.split(' ') };
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      // The database may be away; a token that can't be read is the client's.
      if (error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_J')) throw invalidToken(error);
      if (error instanceof TypeError) throw invalidToken(error);
      throw error;
    }
  }

  async #load(): Promise<void> {
    const scope = directoryScope(workFor(5_000));
    const rows = await this.#db.transact(scope, async (query) => {
      const found = await listTokenKeys(query);
      if (found.length > 0) return found;
      await lockTokenKeys(query);
      const again = await listTokenKeys(query);
      if (again.length > 0) return again;
      const created = this.#create();
      await insertTokenKey(query, created);
      return [created];
    });
    this.#keys = await Promise.all(
      rows.map(async ({ keyId, publicJwk, privateKeySealed }) => {
        const pem = this.#seal.open(privateKeySealed).toString();
        return {
          keyId,
          publicKey: (await importJWK(JSON.parse(publicJwk), ALGORITHM)) as CryptoKey,
          privateKey: await importPKCS8(pem, ALGORITHM),
          privateJwk: { ...createPrivateKey(pem).export({ format: 'jwk' }), kid: keyId, alg: ALGORITHM, use: 'sig' },
        };
      }),
    );
  }

  #create(): TokenKeyRow {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    return {
      keyId: `tk_${crypto.randomUUID()}`,
      publicJwk: JSON.stringify(publicKey.export({ format: 'jwk' })),
      privateKeySealed: this.#seal.seal(Buffer.from(privateKey.export({ type: 'pkcs8', format: 'pem' }))),
    };
  }
}

export function invalidToken(cause?: unknown): ServiceError {
  return new ServiceError('unauthenticated', 'The access token is unknown, expired or revoked.', {
    reason: REASONS.invalidAccessToken,
    cause,
  });
}
