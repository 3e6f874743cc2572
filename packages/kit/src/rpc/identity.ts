import type { KeyObject } from 'node:crypto';
import { decodeProtectedHeader, importJWK, jwtVerify, SignJWT, type CryptoKey } from 'jose';
import { LRUCache } from 'lru-cache';
import { ServiceError, unavailable } from '../errors.ts';
import { Fresh } from '../fresh.ts';
import type { KeyRight } from './key-rights.ts';

/** The verified caller of an internal call. The organization and every right are taken from here and from nowhere else. */
export type Identity = OrganizationIdentity | UserIdentity | OperatorIdentity | ProgramIdentity;

/** An organization that calls by one of its API keys. */
export interface OrganizationIdentity {
  kind: 'organization';
  organization: string;
  keyId: string;
  /** Dotted paths of the call detail that this organization sees. */
  allowedFields: string[];
  /** Whether responses contain interviewees' names only anonymized. */
  anonymize: boolean;
  writeSurface: boolean;
  rights: KeyRight[];
}

/** A signed-in user of an organization. */
export interface UserIdentity {
  kind: 'user';
  organization: string;
  userId: string;
  scopes: string[];
}

/** An operator, who acts on one organization, or on none, for example to list all organizations. */
export interface OperatorIdentity {
  kind: 'operator';
  organization?: string;
  name: string;
  /** When the operator was created (ISO 8601). It tells apart operators that had the same name at different times. */
  since: string;
}

/** A program of ours that works by itself, for one organization or above organizations. */
export interface ProgramIdentity {
  kind: 'program';
  organization?: string;
  program: IndependentProgram;
}

export type IndependentProgram = 'webhooks';

export type IdentityKind = Identity['kind'];

const ISSUER = 'call-research';
const audienceOf = (service: string) => `${ISSUER}/${service}`;
const EVERY_SERVICE = audienceOf('internal');

/**
 * Signs an identity into a token that lives `seconds`.
 * @param service the service that accepts the token. Auth accepts it too, because the service forwards it to auth. Undefined: all services
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

/** Turns a token into the identity that it carries. @throws ServiceError unauthenticated, or unavailable if the keys can't be fetched */
export type Verifier = (token: string) => Promise<Identity>;

/** Each active credential gets a new token every second. A token and its identity take about 1 KB. */
const MAX_CACHED_TOKENS = 2_000;

const CHECKS = { issuer: ISSUER, algorithms: ['EdDSA'], requiredClaims: ['exp', 'identity'] };

type KeysById = Map<string, Promise<CryptoKey>>;

/** From this age on, keys are fetched again: in the background, or before a token with an unknown key id is refused. */
const REFRESH_MS = 1_000;
/** Keys older than this aren't used before an attempt to fetch them. */
const MAX_AGE_MS = 5_000;
/** While auth is unavailable, keys are used up to this age. */
const STALE_MS = 300_000;

/**
 * Creates the verifier of a service. While in use, it fetches the keys every second, so that a retired key soon verifies nothing. It caches the result for
 * a token until the token expires or its key is retired.
 */
export function createVerifier(service: string, keySource: KeySource): Verifier {
  const checks = { ...CHECKS, audience: [audienceOf(service), EVERY_SERVICE] };
  const verified = new LRUCache<string, { identity: Identity; keyId: string; expires: number }>({ max: MAX_CACHED_TOKENS });
  const cachedKeys = new Fresh<KeysById>({ maxAgeMs: MAX_AGE_MS, refreshMs: REFRESH_MS, staleMs: STALE_MS });

  async function fetchKeys(): Promise<KeysById> {
    const found = await keySource().catch((error: unknown) => {
      // Not `unauthenticated`: the token isn't the cause.
      throw error instanceof ServiceError ? error : unavailable('The keys of caller tokens are not available.', error);
    });
    return new Map([...found].map(([id, jwk]) => [id, importJWK(JSON.parse(jwk), 'EdDSA') as Promise<CryptoKey>]));
  }

  async function keyOf(keyId: string): Promise<CryptoKey | undefined> {
    const keys = await cachedKeys.get('keys', fetchKeys);
    return keys.get(keyId) ?? (await cachedKeys.get('keys', fetchKeys, REFRESH_MS)).get(keyId);
  }

  return async (token) => {
    const hit = verified.get(token);
    try {
      const keyId = hit?.keyId ?? decodeProtectedHeader(token).kid ?? '';
      const key = await keyOf(keyId);
      if (!key) throw new Error('unknown signing key');
      if (hit && hit.expires > Date.now()) return hit.identity;
      const { payload } = await jwtVerify<{ identity: Identity }>(token, key, checks);
      verified.set(token, { identity: payload.identity, keyId, expires: (payload.exp ?? 0) * 1000 });
      return payload.identity;
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      throw new ServiceError('unauthenticated', 'The caller token is not valid.', { cause: error });
    }
  };
}
