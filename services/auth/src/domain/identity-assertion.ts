import { OAUTH_SCOPES } from '@crs/kit/rpc/scopes';
import { unstorable } from '@crs/kit/text';

/**
 * The rules for the claims of an identity assertion (ID-JAG, draft-ietf-oauth-identity-assertion-authz-grant). Its signature is verified
 * before.
 */

/** Assertions are exchanged at once, so an old one may have been stolen. In seconds. */
const MAX_AGE = 300;
/** How much the clocks of the issuer and of this server may differ, in seconds. */
const CLOCK_TOLERANCE = 30;
/** The limit of the OpenID Connect standard, in characters. */
const MAX_ID = 255;

type Claims = Record<string, unknown>;

/** Of claims that break no rule. */
interface CheckedClaims {
  sub: string;
  jti: string;
  iat: number;
  exp: number;
  scope?: string;
}

interface Expected {
  issuer: string;
  audience: string;
  resource: string;
  clientId: string;
  /** In epoch seconds. */
  now: number;
}

export interface IdentityAssertion {
  subject: string;
  id: string;
  /** The scopes of this server that it names; all if it names none at all. */
  scopes: string[];
  email: { email: unknown; email_verified: unknown; xms_edov: undefined };
  /** From this time on, in epoch seconds, no server accepts it. */
  unusableFrom: number;
}

/** What is wrong with the claims, by the reason for the audit trail. */
const RULES = {
  'wrong issuer': ({ iss }, { issuer }) => iss === issuer,
  'wrong audience': ({ aud }, { audience }) => single(aud) === audience,
  'wrong resource': ({ resource }, expected) => resource === undefined || single(resource) === expected.resource,
  'issued to another client': (claims, { clientId }) => claims['client_id'] === clientId,
  'no subject': ({ sub }) => isId(sub),
  'no jti': ({ jti }) => isId(jti),
  'no times': ({ iat, exp, nbf }) => isTime(iat) && isTime(exp) && (nbf === undefined || isTime(nbf)),
  expired: ({ exp }, { now }) => (exp as number) > now,
  'too old': ({ iat }, { now }) => (iat as number) >= now - MAX_AGE,
  'not valid yet': ({ iat, nbf = 0 }, { now }) => Math.max(iat as number, nbf as number) <= now + CLOCK_TOLERANCE,
  // This server verifies no proof of possession, and knows no types of details. Ignoring either would grant more than was meant.
  'bound to a key': ({ cnf }) => cnf === undefined,
  'authorization details': (claims) => claims['authorization_details'] === undefined,
  'unreadable scope': ({ scope }) => scope === undefined || typeof scope === 'string',
} satisfies Record<string, (claims: Claims, expected: Expected) => boolean>;

export type ClaimFault = keyof typeof RULES;

/** @returns the assertion, or the first rule that its claims break */
export function readAssertion(claims: Claims, expected: Expected): IdentityAssertion | ClaimFault {
  const broken = Object.entries(RULES).find(([, isKept]) => !isKept(claims, expected));
  if (broken) return broken[0] as ClaimFault;
  const { sub, jti, iat, exp, scope, email, email_verified } = claims as Claims & CheckedClaims;
  return {
    subject: sub,
    id: jti,
    scopes: scopesOf(scope),
    email: { email, email_verified, xms_edov: undefined },
    unusableFrom: Math.min(exp, iat + MAX_AGE) + CLOCK_TOLERANCE,
  };
}

/** The scopes of this server that a text names. Undefined: all. */
export function scopesOf(text: string | undefined): string[] {
  const named = text?.split(' ');
  return OAUTH_SCOPES.filter((scope) => named?.includes(scope) ?? true);
}

/** The value of a claim that may be a list. Undefined: the list has no or several elements. */
function single(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  return value.length === 1 ? value[0] : undefined;
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_ID && unstorable(value) === undefined;
}

function isTime(value: unknown): value is number {
  return Number.isFinite(value);
}
