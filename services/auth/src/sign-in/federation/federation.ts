import type { Request } from 'express';
import { ORGANIZATION_ID } from '@crs/kit/text';
import { redirectUriOf } from '../../domain/oidc-provider.ts';
import { auditEntry } from '../../store/audit.ts';
import { findLinkedUser } from '../../store/identities.ts';
import { findOidcProvider, type OidcProviderRow } from '../../store/oidc-providers.ts';
import { toAccountId } from '../accounts.ts';
import { credentialScopeNow, type SignInContext } from '../context.ts';
import { FetchPool } from '../fetch-pool.ts';
import { expired, Problem } from '../problem.ts';
import { forwardedAddress, queryOf, type Visit } from '../request.ts';
import { recordRefusal } from '../record-refusal.ts';
import { PROVIDERS_OF_ADDRESS, secondsToWaitOf } from '../throttle.ts';
import { BEGUN_MS, BegunSeal, type Begun } from './begun.ts';
import { linkableEmail, linkByEmail, type LinkedUser } from './link.ts';
import { MESSAGES, SignInRefusal, textOf, type Reason } from './refusals.ts';
import {
  allowedHosts,
  authorizationUrl,
  fetcherOf,
  newChecks,
  redeem,
  type Identity,
  type RelyingParty,
} from './relying-party.ts';

/** A sign-in that failed. The form shows the error, and proposes the organization again. */
export interface SignInRefused {
  kind: 'refused';
  organization: string;
  status: number;
  error: string;
}

export interface SignInAccepted {
  kind: 'accepted';
  organization: string;
  accountId: string;
}

export type SignInResult = SignInAccepted | SignInRefused;

/** @property uid of the authorization in which the sign-in began; undefined if it began at the user's connections */
export type Finished = SignInResult & { uid: string | undefined };

/** Signs users in through their organization's own OpenID provider. */
export class Federation {
  readonly #context: SignInContext;
  readonly #begun: BegunSeal;
  /** By organization: several may have the same host as their provider, and one silent provider must not stop the sign-in of others. */
  readonly #fetches = new FetchPool({ total: 16, perKey: 4, urlsPerKey: 4 });

  constructor(context: SignInContext) {
    this.#context = context;
    this.#begun = new BegunSeal(context.secrets);
  }

  /** The name of an organization's provider, for people; undefined if it has no provider. */
  async nameOf(organization: string): Promise<string | undefined> {
    const found = await this.#find(organization);
    return found && new URL(found.issuer).host;
  }

  /**
   * @param email what the person has typed; the provider proposes it. May be empty
   * @param uid of the authorization that goes on afterwards; undefined: the user's connections
   * @returns the provider's address for the browser; undefined if the organization has no provider
   * @throws Problem if the provider can't be reached, or this client tries too often
   */
  async begin(visit: Visit, organization: string, email: string, uid?: string): Promise<string | undefined> {
    const found = await this.#find(organization);
    if (!found) return undefined;
    await this.#throttle(visit);
    const { issuer } = found;
    const checks = newChecks();
    try {
      const url = await authorizationUrl(this.#partyOf(organization, found), checks, email);
      visit.cookies.set('provider', this.#begun.close({ ...checks, organization, issuer, uid }), BEGUN_MS);
      return url;
    } catch (error) {
      if (!(error instanceof SignInRefusal)) throw error;
      await this.#audit(visit.request, { organization, issuer }, 'provider away', error.detail);
      throw new Problem(503, 'Sign-in is unavailable', MESSAGES['provider away'], new Error(textOf(error.cause)));
    }
  }

  /** Handles the provider's answer. @throws Problem if this browser doesn't wait for it */
  async finish(visit: Visit): Promise<Finished> {
    const { request, cookies } = visit;
    const begun = this.#begun.open(cookies.get('provider'));
    if (!begun) throw expired();
    await this.#throttle(visit);
    const answer = queryOf(request);
    // Another organization's provider has sent this answer, so its code must not go to the provider of this one.
    if (request.params['organization'] !== begun.organization) {
      await this.#audit(request, begun, 'redirect URI of another organization');
      throw expired();
    }
    if (answer.get('state') !== begun.state) {
      await this.#audit(request, begun, 'state mismatch');
      throw expired();
    }
    cookies.set('provider', null);

    const { organization, issuer, uid } = begun;
    try {
      const found = await this.#find(organization);
      if (found?.issuer !== issuer) throw new SignInRefusal('provider changed');
      const identity = await redeem(this.#partyOf(organization, found), answer, begun);
      const user = await this.#userOf(begun, identity, found.domains);
      const details = { address: forwardedAddress(request) };
      const entry = auditEntry(organization, user.email, 'sign-in.accept', `${user.email} by ${issuer}`, details);
      await this.#context.db.run(credentialScopeNow(organization), entry);
      return { kind: 'accepted', organization, uid, accountId: toAccountId({ organization, ...user }) };
    } catch (error) {
      if (!(error instanceof SignInRefusal)) throw error;
      const { reason, detail, message, cause } = error;
      if (cause !== undefined)
        this.#context.log.warn({ organization, issuer, detail: textOf(cause) }, 'the OpenID provider could not be used');
      await this.#audit(request, begun, reason, detail);
      return { kind: 'refused', organization, uid, status: reason === 'provider away' ? 503 : 403, error: message };
    }
  }

  /** The e-mail counts at the first sign-in only. Later the subject alone says who the user is. @throws SignInRefusal */
  async #userOf({ organization, issuer }: Begun, identity: Identity, domains: string[]): Promise<LinkedUser> {
    const { db } = this.#context;
    const { subject } = identity;
    const [linked] = await db.read(credentialScopeNow(organization), findLinkedUser(organization, issuer, subject));
    if (linked?.disabledAt) throw new SignInRefusal('disabled user', subject);
    if (linked) return linked;
    const email = await linkableEmail(identity, domains);
    const account = { organization, issuer, subject };
    const user = await db.transact(credentialScopeNow(organization), (query) => linkByEmail(query, account, email));
    if (typeof user === 'string') throw new SignInRefusal(user, email);
    return user;
  }

  async #find(organization: string): Promise<OidcProviderRow | undefined> {
    if (!ORGANIZATION_ID.test(organization)) return undefined;
    const [row] = await this.#context.db.read(credentialScopeNow(organization), findOidcProvider(organization));
    return row;
  }

  #partyOf(organization: string, { issuer, clientId, clientSecretSealed }: OidcProviderRow): RelyingParty {
    const { seals, issuer: ourIssuer, oidcAllowHosts, proxyUrl } = this.#context;
    return {
      issuer,
      clientId,
      clientSecret: clientSecretSealed ? seals.organizations.open(clientSecretSealed, organization).toString() : undefined,
      redirectUri: redirectUriOf(ourIssuer, organization),
      fetch: fetcherOf(organization, this.#fetches, { allowHosts: allowedHosts(oidcAllowHosts, organization, issuer), proxyUrl }),
    };
  }

  async #audit(request: Request, begun: Pick<Begun, 'organization' | 'issuer'>, reason: Reason, detail?: string): Promise<void> {
    const { organization, issuer } = begun;
    await recordRefusal(this.#context, {
      organization,
      reason,
      target: `${reason}${detail ? ` (${detail})` : ''} at ${issuer}`,
      outcome: reason === 'provider away' ? 'unavailable' : 'unauthenticated',
      address: forwardedAddress(request),
    });
  }

  async #throttle({ request, response }: Visit): Promise<void> {
    const seconds = await secondsToWaitOf(this.#context, PROVIDERS_OF_ADDRESS, forwardedAddress(request));
    if (seconds === 0) return;
    response.set('Retry-After', String(seconds));
    throw new Problem(429, 'Too many attempts', `Wait ${Math.ceil(seconds / 60)} min, then try again.`);
  }
}
