import type { Request } from 'express';
import { Encrypter } from '@crs/kit/data/encrypter';
import { ORGANIZATION_ID } from '@crs/kit/text';
import { redirectUriOf } from '../../domain/oidc-provider.ts';
import { auditEntry } from '../../store/audit.ts';
import { findOidcProvider, type OidcProviderRow } from '../../store/oidc-providers.ts';
import { toAccountId } from '../accounts.ts';
import { credentialScopeNow, type SignInContext } from '../context.ts';
import { FetchPool } from '../fetch-pool.ts';
import { expired, PageError } from '../page-error.ts';
import { forwardedAddress, queryOf, type Visit } from '../request.ts';
import { recordRefusal } from '../record-refusal.ts';
import { PROVIDERS_OF_ADDRESS, secondsToWaitOf } from '../throttle.ts';
import { findOrLinkUser } from './link.ts';
import { decryptPending, encryptPending, PENDING_MS, type PendingSignIn } from './pending.ts';
import { MESSAGES, messagesOf, SignInRefusal, type Reason } from './refusals.ts';
import { allowedHosts, authorizationUrl, fetcherOf, newChecks, redeem } from './relying-party.ts';

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

/** @property uid of the authorization in which the sign-in began; undefined if it began at `/connections` */
export type FederatedResult = SignInResult & { uid: string | undefined };

/** Signs users in through their organization's own OpenID provider. */
export class Federation {
  readonly #context: SignInContext;
  readonly #encrypter: Encrypter;
  /** By organization: several may have the same host as their provider, and one silent provider must not stop the sign-in of others. */
  readonly #fetches = new FetchPool({ total: 16, perKey: 4, urlsPerKey: 4 });

  constructor(context: SignInContext) {
    this.#context = context;
    this.#encrypter = new Encrypter(context.secrets, 'federated-sign-in');
  }

  /** The host of an organization's provider, as pages name it; undefined if the organization has no provider. */
  async nameOf(organization: string): Promise<string | undefined> {
    const found = await this.#find(organization);
    return found && new URL(found.issuer).host;
  }

  /**
   * @param email what the user has typed, for the provider to propose. May be empty
   * @param uid of the authorization that continues afterwards; undefined: `/connections` follows
   * @returns the provider's URL for the browser; undefined if the organization has no provider
   * @throws PageError if the provider is unavailable, or the client's address is over its limit
   */
  async begin(visit: Visit, organization: string, email: string, uid?: string): Promise<string | undefined> {
    const found = await this.#find(organization);
    if (!found) return undefined;
    await this.#throttle(visit);
    const { issuer } = found;
    const checks = newChecks();
    try {
      const url = await authorizationUrl(this.#partyOf(organization, found), checks, email);
      visit.cookies.set('provider', encryptPending(this.#encrypter, { ...checks, organization, issuer, uid }), PENDING_MS);
      return url;
    } catch (error) {
      if (!(error instanceof SignInRefusal)) throw error;
      await this.#audit(visit.request, { organization, issuer }, 'provider away', error.detail);
      throw new PageError(503, 'Sign-in is unavailable', MESSAGES['provider away'], new Error(messagesOf(error.cause)));
    }
  }

  /** Handles the provider's authorization response. @throws PageError if this browser has no matching sign-in pending */
  async finish(visit: Visit): Promise<FederatedResult> {
    const { request, cookies } = visit;
    const pending = decryptPending(this.#encrypter, cookies.get('provider'));
    if (!pending) throw expired();
    await this.#throttle(visit);
    const { organization, issuer, uid } = pending;
    const parameters = queryOf(request);
    // The code comes from another organization's provider, so it must not be sent to this one's.
    if (request.params['organization'] !== organization) {
      await this.#audit(request, pending, 'redirect URI of another organization');
      throw expired();
    }
    if (parameters.get('state') !== pending.state) {
      await this.#audit(request, pending, 'state mismatch');
      throw expired();
    }
    cookies.set('provider', null);

    try {
      const found = await this.#find(organization);
      if (found?.issuer !== issuer) throw new SignInRefusal('provider changed');
      const identity = await redeem(this.#partyOf(organization, found), parameters, pending);
      const user = await findOrLinkUser(this.#context.db, pending, identity, found);
      const details = { address: forwardedAddress(request) };
      const entry = auditEntry(organization, user.email, 'sign-in.accept', `${user.email} by ${issuer}`, details);
      await this.#context.db.run(credentialScopeNow(organization), entry);
      return { kind: 'accepted', organization, uid, accountId: toAccountId({ organization, ...user }) };
    } catch (error) {
      if (!(error instanceof SignInRefusal)) throw error;
      const { reason, detail, message, cause } = error;
      if (cause !== undefined)
        this.#context.log.warn({ organization, issuer, detail: messagesOf(cause) }, 'the OpenID provider could not be used');
      await this.#audit(request, pending, reason, detail);
      return { kind: 'refused', organization, uid, status: reason === 'provider away' ? 503 : 403, error: message };
    }
  }

  async #find(organization: string): Promise<OidcProviderRow | undefined> {
    if (!ORGANIZATION_ID.test(organization)) return undefined;
    const [row] = await this.#context.db.read(credentialScopeNow(organization), findOidcProvider(organization));
    return row;
  }

  #partyOf(organization: string, { issuer, clientId, clientSecretEncrypted }: OidcProviderRow) {
    const { encrypters, issuer: ourIssuer, oidcAllowHosts, proxyUrl } = this.#context;
    const allowHosts = allowedHosts(oidcAllowHosts, organization, issuer);
    return {
      issuer,
      clientId,
      clientSecret: clientSecretEncrypted
        ? encrypters.organizations.decrypt(clientSecretEncrypted, organization).toString()
        : undefined,
      redirectUri: redirectUriOf(ourIssuer, organization),
      fetch: fetcherOf(organization, this.#fetches, { allowHosts, proxyUrl }),
    };
  }

  async #audit(
    request: Request,
    { organization, issuer }: Pick<PendingSignIn, 'organization' | 'issuer'>,
    reason: Reason,
    detail?: string,
  ): Promise<void> {
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
    throw new PageError(429, 'Too many attempts', `Wait ${Math.ceil(seconds / 60)} min, then try again.`);
  }
}
