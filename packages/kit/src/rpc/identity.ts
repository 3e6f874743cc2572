import type { KeyObject } from 'node:crypto';
import { decodeProtectedHeader, importJWK, jwtVerify, SignJWT, type CryptoKey } from 'jose';
import { LRUCache } from 'lru-cache';
import { ServiceError, unavailable } from '../errors.ts';
import { Fresh } from '../fresh.ts';

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
  /** When the operator was created (ISO 8601): a later operator may have the same name. */
  since: string;
}

export type IdentityKind = Identity['kind'];

const ISSUER = 'call-research';
const audienceOf = (service: string) => `${ISSUER}/${service}`;
const EVERY_SERVICE = audienceOf('internal');

/**
 * Signs an identity into a token that lives `seconds`.
 * @param service the one that accepts the token, besides auth, to which it passes its callers on. Undefined: every service does
 */
export function signIdentity(
  identity: Identity,
  service: string | undefined,
  keyId: string,
  privateKey: CryptoKey | KeyObject,
  seconds: number,
): Promise<string> {
  const issuedAt = Math.floor(Date.now() / 1000);
  return new SignJWT({ identity })
    .setProtectedHeader({ alg: 'EdDSA', kid: keyId })
    .setIssuer(ISSUER)
    .setAudience(service === undefined ? EVERY_SERVICE : [audienceOf(service), audienceOf('auth')])
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + seconds)
    .sign(privateKey);
}

/** Looks up the public keys that tokens are signed with, as JSON Web Keys by key id. */
export type KeySource = () => Promise<Map<string, string>>;

/** Turns a token into the identity that it carries. @throws ServiceError unauthenticated, or unavailable where the keys can't be had */
export type Verifier = (token: string) => Promise<Identity>;

/** Each credential in use has a new token each second. A token and its identity take about 1 KB, and expired ones stay until others take their place. */
const MAX_KNOWN = 2_000;

const CHECKS = { issuer: ISSUER, algorithms: ['EdDSA'], requiredClaims: ['exp', 'identity'] };

/** Public keys by id. */
type Keys = Map<string, Promise<CryptoKey>>;

/** The age of the keys after which they are fetched again in the background, and after which an unknown key id has them fetched. */
const REFRESH_MS = 1_000;
/** Keys of this age aren't used before an attempt to fetch them. */
const MAX_AGE_MS = 5_000;
/** While auth doesn't answer, keys are used up to this age. */
const STALE_MS = 300_000;

/**
 * The verifier of a service. It fetches the keys again each second in which it is used, so that a retired key verifies no more. While they can't be fetched, it uses
 * them for five minutes. It remembers the result of a token until the token expires or its key is retired.
 */
export function createVerifier(service: string, keySource: KeySource): Verifier {
  const checks = { ...CHECKS, audience: [audienceOf(service), EVERY_SERVICE] };
  const known = new LRUCache<string, { identity: Identity; keyId: string; expires: number }>({ max: MAX_KNOWN });
  const fetched = new Fresh<Keys>({ maxAgeMs: MAX_AGE_MS, refreshMs: REFRESH_MS, staleMs: STALE_MS });

  async function fetchKeys(): Promise<Keys> {
    const found = await keySource().catch((error: unknown) => {
      // The token isn't to blame for this failure.
      throw error instanceof ServiceError ? error : unavailable('The keys of caller tokens are not available.', error);
    });
    return new Map([...found].map(([id, jwk]) => [id, importJWK(JSON.parse(jwk), 'EdDSA') as Promise<CryptoKey>]));
  }

  async function keyOf(keyId: string): Promise<CryptoKey | undefined> {
    const keys = await fetched.get('keys', fetchKeys);
    return keys.get(keyId) ?? (await fetched.get('keys', fetchKeys, REFRESH_MS)).get(keyId);
  }

  return async (token) => {
    const hit = known.get(token);
    try {
      const keyId = hit?.keyId ?? decodeProtectedHeader(token).kid ?? '';
      const key = await keyOf(keyId);
      if (!key) throw new Error('unknown signing key');
      if (hit && hit.expires > Date.now()) return hit.identity;
      const { payload } = await jwtVerify<{ identity: Identity }>(token, key, checks);
      known.set(token, { identity: payload.identity, keyId, expires: (payload.exp ?? 0) * 1000 });
      return payload.identity;
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      throw new ServiceError('unauthenticated', 'The caller token is not valid.', { cause: error });
    }
  };
}
