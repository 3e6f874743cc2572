import { compactVerify, decodeJwt, decodeProtectedHeader, errors as jose, type CompactVerifyResult } from 'jose';
import { readAssertion, type IdentityAssertion } from '../../domain/identity-assertion.ts';
import { normalizeIssuer } from '../../domain/oidc-provider.ts';
import { findIssuerOwner } from '../../store/assertion-issuers.ts';
import { directoryScopeNow, type SignInContext } from '../context.ts';
import { providerFault } from '../federation/refusals.ts';
import { FetchesBusy, isBusy } from '../fetch-pool.ts';
import { IssuerKeyCache, type IssuerKeys } from './issuer-keys.ts';
import { refused, unverified } from './refusals.ts';

const TYPE = 'oauth-id-jag+jwt';
/** Asymmetric. With a symmetric one, the issuer's public key could be used as the secret. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'];
/** In characters. */
const MAX_ASSERTION = 8_192;

/** An issuer of identity assertions, and the organization that lists it. */
export interface ListedIssuer {
  organization: string;
  issuer: string;
}

/** Verifies identity assertions: their issuer, signature and claims. */
export class AssertionVerifier {
  readonly #context: SignInContext;
  readonly #keys: IssuerKeyCache;

  constructor(context: SignInContext) {
    this.#context = context;
    this.#keys = new IssuerKeyCache(context);
  }

  /** The issuer that an assertion claims to be from. Undefined: the assertion can't be read, or no organization lists the issuer. */
  async issuerOf(assertion: string): Promise<ListedIssuer | undefined> {
    const url = assertion.length <= MAX_ASSERTION ? URL.parse(claimedIssuerOf(assertion)) : null;
    if (!url) return undefined;
    const [owner] = await this.#context.db.read(directoryScopeNow(), findIssuerOwner(normalizeIssuer(url)));
    return owner;
  }

  /** @throws AssertionRefusal, FetchesBusy */
  async verify(assertion: string, listed: ListedIssuer, clientId: string): Promise<IdentityAssertion> {
    checkHeader(assertion);
    const { issuer, payload } = await this.#verifySignature(assertion, listed);
    const { issuer: audience, accessTokens } = this.#context;
    const now = Math.floor(Date.now() / 1_000);
    const read = readAssertion(payload, { issuer, audience, resource: accessTokens.audience, clientId, now });
    if (typeof read === 'string') throw refused(read);
    return read;
  }

  async #verifySignature(assertion: string, { organization, issuer }: ListedIssuer) {
    const keys = await fetched(this.#keys.get(organization, issuer));
    try {
      return await verified(assertion, keys);
    } catch (error) {
      if (!(error instanceof jose.JWKSNoMatchingKey)) throw unverified('invalid signature');
    }
    const newer = await fetched(this.#keys.getNewer(organization, issuer));
    if (!newer) throw unverified('unknown key');
    try {
      return await verified(assertion, newer);
    } catch (error) {
      throw unverified(error instanceof jose.JWKSNoMatchingKey ? 'unknown key' : 'invalid signature');
    }
  }
}

/** Not verified yet. Empty: the assertion can't be read. */
function claimedIssuerOf(assertion: string): string {
  try {
    return decodeJwt(assertion).iss ?? '';
  } catch {
    return '';
  }
}

function checkHeader(assertion: string): void {
  const { typ, alg } = headerOf(assertion);
  if (typ !== TYPE) throw unverified('wrong type');
  if (alg === undefined || !ALGORITHMS.includes(alg)) throw unverified('wrong algorithm');
}

function headerOf(assertion: string): { typ?: string; alg?: string } {
  try {
    return decodeProtectedHeader(assertion);
  } catch {
    throw unverified('wrong type');
  }
}

async function verified(assertion: string, { issuer, keyOf }: IssuerKeys) {
  const { payload }: CompactVerifyResult = await compactVerify(assertion, keyOf, { algorithms: ALGORITHMS });
  return { issuer, payload: JSON.parse(new TextDecoder().decode(payload)) as Record<string, unknown> };
}

async function fetched<T>(keys: Promise<T>): Promise<T> {
  try {
    return await keys;
  } catch (error) {
    if (isBusy(error)) throw new FetchesBusy();
    throw unverified('issuer unavailable', providerFault(error).detail, error);
  }
}
