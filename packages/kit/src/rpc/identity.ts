import type { KeyObject } from 'node:crypto';
import { decodeProtectedHeader, importJWK, jwtVerify, SignJWT, type CryptoKey } from 'jose';
import { LRUCache } from 'lru-cache';
import { ServiceError, unavailable } from '../errors.ts';

/** The verified caller of an internal call. The organization and every right are taken from here and from nowhere else. */
export type Identity = OrganizationIdentity | UserIdentity | OperatorIdentity;

/** An organization that calls by one of its API keys. */
export interface OrganizationIdentity {
  kind: 'organization';
  organization: string;
  keyId: string;
  /** Dotted paths of the call detail that this organization sees. */
  allowedFields: string[];
  /** Interviewees' names are shown anonymized. */
  anonymize: boolean;
  writeSurface: boolean;
  readOnly: boolean;
}

/** A signed-in user of an organization. */
export interface UserIdentity {
  kind: 'user';
  organization: string;
  userId: string;
  scopes: string[];
}

/** An operator: at work on one organization, or on none (`organization` undefined), such as to list all of them. */
export interface OperatorIdentity {
  kind: 'operator';
  organization?: string;
  name: string;
}

export type IdentityKind = Identity['kind'];

const ISSUER = 'call-research';
const AUDIENCE = 'call-research/internal';

/** Signs an identity into a token that lives `seconds`. */
export function signIdentity(
  identity: Identity,
  keyId: string,
  privateKey: CryptoKey | KeyObject,
  seconds: number,
  now = Date.now(),
): Promise<string> {
  const issuedAt = Math.floor(now / 1000);
  return new SignJWT({ identity })
    .setProtectedHeader({ alg: 'EdDSA', kid: keyId })
    .setIssuer(ISSUER)
    .setAudience(AUDIENCE)
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + seconds)
    .sign(privateKey);
}

/** Looks up the public keys that tokens are signed with, as JSON Web Keys by key id. */
export type KeySource = () => Promise<Map<string, string>>;

/** Turns a token into the identity that it carries. @throws ServiceError unauthenticated, or unavailable where the keys can't be had */
export type Verifier = (token: string) => Promise<Identity>;

const CHECKS = { issuer: ISSUER, audience: AUDIENCE, algorithms: ['EdDSA'], requiredClaims: ['exp', 'identity'] };

const REFETCH_AFTER_MS = 1_000;
const STALE_AFTER_MS = 300_000;

/**
 * A verifier that fetches keys when it meets an unknown key id (at most once a second) or when they are five minutes old, and
 * remembers the result of a token until the token expires.
 */
export function createVerifier(keySource: KeySource): Verifier {
  const known = new LRUCache<string, { identity: Identity; expires: number }>({ max: 10_000 });
  let keys = new Map<string, Promise<CryptoKey>>();
  let fetchedAt = -Infinity;
  let fetching: Promise<void> | undefined;

  async function fetchKeys(): Promise<void> {
    const found = await keySource().catch((error: unknown) => {
      // The token isn't to blame for this failure.
      throw error instanceof ServiceError ? error : unavailable('The keys of caller tokens are not available.', error);
    });
    keys = new Map([...found].map(([id, jwk]) => [id, importJWK(JSON.parse(jwk), 'EdDSA') as Promise<CryptoKey>]));
    fetchedAt = Date.now();
  }

  async function keyOf(token: string): Promise<CryptoKey | undefined> {
    const { kid = '' } = decodeProtectedHeader(token);
    const age = Date.now() - fetchedAt;
    if (age > STALE_AFTER_MS || (!keys.has(kid) && age > REFETCH_AFTER_MS)) {
      fetching ??= fetchKeys().finally(() => (fetching = undefined));
      await fetching;
    }
    return keys.get(kid);
  }

  return async (token) => {
    const hit = known.get(token);
    if (hit && hit.expires > Date.now()) return hit.identity;
    try {
      const key = await keyOf(token);
      if (!key) throw new Error('unknown signing key');
      const { payload } = await jwtVerify<{ identity: Identity }>(token, key, CHECKS);
      known.set(token, { identity: payload.identity, expires: (payload.exp ?? 0) * 1000 });
      return payload.identity;
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      throw new ServiceError('unauthenticated', 'The caller token is not valid.', { cause: error });
    }
  };
}
