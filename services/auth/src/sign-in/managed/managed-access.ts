import type { Response } from 'express';
import type { Client, default as Provider, TokenEndpointGrantContext } from 'oidc-provider';
import { digestOf, randomBase62 } from '@crs/kit/api-key';
import type { Query } from '@crs/kit/data/database';
import { meter } from '@crs/kit/process/telemetry';
import { scopesOf, type IdentityAssertion } from '../../domain/identity-assertion.ts';
import { lockListedIssuer } from '../../store/assertion-issuers.ts';
import { auditEntry } from '../../store/audit.ts';
import { admitsClient } from '../../store/consents.ts';
import { putManagedConsent } from '../../store/managed-consents.ts';
import { useOnce } from '../../store/oidc-payloads.ts';
import { findOidcProvider } from '../../store/oidc-providers.ts';
import { lockEnabledUser } from '../../store/users.ts';
import { toAccountId } from '../accounts.ts';
import { boundOf } from '../adapter.ts';
import { clientNameOf, JWT_BEARER } from '../clients.ts';
import { credentialScopeNow, type SignInContext } from '../context.ts';
import { findOrLinkUser, type LinkedUser } from '../federation/link.ts';
import { messagesOf, SignInRefusal } from '../federation/refusals.ts';
import { isBusy } from '../fetch-pool.ts';
import { errors } from '../oidc-library.ts';
import { recordRefusal } from '../record-refusal.ts';
import { forwardedAddress, logUser } from '../request.ts';
import { TOOLS } from '../resource-server.ts';
import { AssertionRefusal, noScope, refused, toOAuthError, withoutUser } from './refusals.ts';
import { AssertionVerifier, type ListedIssuer } from './verifier.ts';

/** The longest lifetime of a token. The identity provider decides again at each assertion, so it can end the access after this time. */
const MAX_TOKEN_SECONDS = 3_600;

type GrantContext = TokenEndpointGrantContext<{ assertion?: string }>;

/**
 * Enterprise-managed authorization: exchanges an identity assertion (ID-JAG) of an organization's identity provider for an access token,
 * without the user's consent and without a refresh token.
 */
export class ManagedAccess {
  readonly #context: SignInContext;
  readonly #verifier: AssertionVerifier;
  readonly #tokenSeconds: number;
  readonly #refusals = meter('auth').createCounter('crs.assertion.refusals', {
    description: 'Refused identity assertions, by reason.',
  });

  constructor(context: SignInContext) {
    this.#context = context;
    this.#verifier = new AssertionVerifier(context);
    this.#tokenSeconds = Math.min(context.accessTokenSeconds, MAX_TOKEN_SECONDS);
  }

  register(provider: Provider): void {
    const parameters = ['assertion', 'scope', 'resource'];
    provider.registerGrantType<{ assertion?: string }>(JWT_BEARER, (ctx) => this.#exchange(ctx), parameters);
  }

  async #exchange(ctx: GrantContext): Promise<void> {
    const { client, params } = ctx.oidc;
    const { assertion, resource } = params;
    if (!assertion) throw new errors.InvalidRequest("missing required parameter 'assertion'");
    if (resource !== undefined && resource !== this.#context.accessTokens.audience) throw new errors.InvalidTarget();
    const listed = await this.#verifier.issuerOf(assertion);
    if (!listed) {
      this.#refusals.add(1, { reason: 'unknown issuer' });
      throw toOAuthError();
    }
    try {
      const verified = await this.#verifier.verify(assertion, listed, client.clientId);
      const requested = scopesOf(params.scope);
      const scopes = verified.scopes.filter((scope) => requested.includes(scope));
      if (scopes.length === 0) throw noScope();
      await this.#issueToken(ctx, await this.#grant(client, listed, verified), scopes);
    } catch (error) {
      throw await this.#errorOf(ctx, listed, error);
    }
  }

  /** Begins or renews the grant that the assertion gives. @throws AssertionRefusal, SignInRefusal */
  async #grant(client: Client, { organization, issuer }: ListedIssuer, assertion: IdentityAssertion) {
    const { db } = this.#context;
    const [provider] = await db.read(credentialScopeNow(organization), findOidcProvider(organization));
    if (!provider) throw refused('issuer not listed');
    const [admission] = await db.read(credentialScopeNow(organization), admitsClient(organization, client.clientId));
    if (!admission?.isAdmitted) throw refused('client not listed');
    const identity = { subject: assertion.subject, email: async () => assertion.email };
    // Listing the issuer means that the operator trusts its e-mails.
    const rules = { domains: provider.domains, emailProof: 'issuer' };
    const user = await findOrLinkUser(db, { organization, issuer }, identity, rules);
    const outcome = await db.transact(credentialScopeNow(organization), (query) =>
      this.#putGrant(query, { organization, issuer, client, assertion, user }),
    );
    if (outcome === 'disabled user') throw new SignInRefusal(outcome, assertion.subject);
    if (typeof outcome === 'string') throw refused(outcome);
    return outcome;
  }

  /** @returns the user's account and the grant, or why there is none: an exception would cost the transaction's connection */
  async #putGrant(
    query: Query,
    { organization, issuer, client, assertion, user }: ListedIssuer & NewGrant,
  ): Promise<'issuer not listed' | 'replayed' | 'disabled user' | { accountId: string; grantId: string }> {
    const [listed] = await query(lockListedIssuer(organization, issuer));
    if (!listed) return 'issuer not listed';
    const [first] = await query(this.#useAssertion(organization, issuer, assertion));
    if (!first) return 'replayed';
    const { userId, email } = user;
    const [enabled] = await query(lockEnabledUser(organization, userId));
    if (!enabled) return 'disabled user';
    const { clientId } = client;
    const newId = `grant_${randomBase62(16)}`;
    const name = clientNameOf(client);
    const { scopes } = assertion;
    // The token is issued a moment later.
    const expiresAt = new Date(Date.now() + (this.#tokenSeconds + 60) * 1_000);
    const [grant] = await query(
      putManagedConsent(organization, { grantId: newId, userId, clientId, client: name, scopes, expiresAt }),
    );
    const { grantId } = grant!;
    if (grantId === newId) await query(auditEntry(organization, email, 'connection.create', `${grantId} ${name} by ${issuer}`));
    return { accountId: toAccountId({ organization, userId, sessionVersion: enabled.sessionVersion }), grantId };
  }

  /** No row if the assertion was used before, at any replica. */
  #useAssertion(organization: string, issuer: string, { id, unusableFrom }: IdentityAssertion) {
    const key = { model: 'UsedAssertion', idDigest: digestOf(JSON.stringify([organization, issuer, id])) };
    const payloadEncrypted = this.#context.encrypters.oidc_payloads.encrypt(Buffer.alloc(0), boundOf(key));
    return useOnce(key, { payloadEncrypted, expiresAt: new Date(unusableFrom * 1_000) });
  }

  async #issueToken(ctx: GrantContext, { accountId, grantId }: { accountId: string; grantId: string }, scopes: string[]) {
    const { client, provider } = ctx.oidc;
    const { audience } = this.#context.accessTokens;
    const token = new provider.AccessToken({
      client,
      accountId,
      grantId,
      gty: JWT_BEARER,
      scope: scopes.join(' '),
      resourceServer: new provider.ResourceServer(audience, TOOLS),
      expiresIn: this.#tokenSeconds,
    });
    ctx.oidc.entity('AccessToken', token);
    logUser(ctx.res as Response, accountId);
    ctx.body = {
      access_token: await token.save(),
      token_type: token.tokenType,
      expires_in: token.expiration,
      scope: token.scope,
      resource: audience,
    };
  }

  /** Records a refusal. @returns the error for oidc-provider */
  async #errorOf(ctx: GrantContext, { organization, issuer }: ListedIssuer, thrown: unknown): Promise<unknown> {
    const refusal = thrown instanceof SignInRefusal ? withoutUser(thrown) : thrown;
    if (isBusy(refusal)) return new errors.InvalidGrant({ detail: 'busy', cause: refusal });
    if (!(refusal instanceof AssertionRefusal)) return thrown;
    const { reason, detail, cause } = refusal;
    this.#refusals.add(1, { reason });
    if (cause !== undefined)
      this.#context.log.warn({ organization, issuer, detail: messagesOf(cause) }, 'an identity assertion could not be verified');
    await recordRefusal(this.#context, {
      organization,
      action: 'connection.refuse',
      reason,
      target: `${reason}${detail ? ` (${detail})` : ''} at ${issuer}`,
      outcome: reason === 'issuer unavailable' ? 'unavailable' : 'unauthenticated',
      address: forwardedAddress(ctx.req),
    });
    return toOAuthError(refusal);
  }
}

interface NewGrant {
  client: Client;
  assertion: IdentityAssertion;
  user: LinkedUser;
}
