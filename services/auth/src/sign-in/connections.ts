import type { Request, Response } from 'express';
import type Provider from 'oidc-provider';
import { randomBase62 } from '@crs/kit/product/api-key';
import { ORGANIZATION_ID } from '@crs/kit/text';
import { auditEntry } from '../store/audit.ts';
import { listGrantsOfUser, revokeGrant, type GrantRow } from '../store/grants.ts';
import type { LiveUserRow } from '../store/users.ts';
import { parseAccountId } from './account-id.ts';
import { loadUser } from './accounts.ts';
import { credentialScope } from '@crs/kit/data/scope';
import { type SignInContext, statementTime } from './context.ts';
import { cookieSettings } from './cookies.ts';
import type { Federation, Finished } from './federation/federation.ts';
import { noProvider } from './federation/refusals.ts';
import { describe } from './interactions.ts';
import { FormTokens } from './keys.ts';
import { connectionsPage } from './pages/connections.ts';
import { PAGE_HEADERS } from './pages/headers.ts';
import { continuePage, signedOutPage } from './pages/messages.ts';
import type { Scope } from './pages/scopes.ts';
import { signInPage } from './pages/sign-in.ts';
import { checkPassword } from './passwords.ts';
import { forged } from './problem.ts';
import { SESSION_SECONDS } from './provider.ts';
import { addressOf, field, queryOf } from './request.ts';

interface Visitor {
  accountId: string;
  user: LiveUserRow;
}

/** `/connections`: a user's connected assistants, to see and to revoke. */
export class Connections {
  readonly #context: SignInContext;
  readonly #forms: FormTokens;
  readonly #federation: Federation;

  constructor(context: SignInContext, federation: Federation) {
    this.#context = context;
    this.#federation = federation;
    this.#forms = new FormTokens(context.secret);
  }

  async show(provider: Provider, request: Request, response: Response): Promise<void> {
    const visitor = await this.#visitor(provider, request, response);
    if (visitor) await this.#showList(visitor, provider, request, response);
    else await this.#showSignIn(provider, request, response);
  }

  async signIn(provider: Provider, request: Request, response: Response): Promise<void> {
    this.#checkForm(provider, request, response);
    const organization = field(request, 'organization').trim().toLowerCase();
    const email = field(request, 'email').trim();
    const address = addressOf(request);
    const to = await this.#federation.begin(provider, request, response, { organization });
    if (to !== undefined) {
      response.set(PAGE_HEADERS).type('html').send(continuePage({ to }));
      return;
    }
    if (field(request, 'method') === 'provider') {
      const shown = { organization, email, error: noProvider(organization) };
      await this.#showSignIn(provider, request, response.status(422), shown);
      return;
    }
    const outcome = await checkPassword(this.#context, { organization, email, password: field(request, 'password'), address });
    if (outcome.kind !== 'accepted') {
      if (outcome.kind === 'throttled') response.set('Retry-After', String(outcome.retryAfterSeconds));
      response.status(outcome.kind === 'throttled' ? 429 : 422);
      await this.#showSignIn(provider, request, response, { organization, email, error: describe(outcome) });
      return;
    }
    await this.#accept(provider, request, response, { organization, accountId: outcome.accountId });
  }

  /** Goes on after the organization's own provider. */
  async resume(provider: Provider, request: Request, response: Response, finished: Finished): Promise<void> {
    if (finished.kind === 'accepted') {
      await this.#accept(provider, request, response, finished);
      return;
    }
    const { status, organization, message: error } = finished;
    await this.#showSignIn(provider, request, response.status(status), { organization, email: '', error });
  }

  async #accept(
    provider: Provider,
    request: Request,
    response: Response,
    { organization, accountId }: { organization: string; accountId: string },
  ): Promise<void> {
    const { options, names, organization: cookie } = cookieSettings(this.#context.issuer);
    const context = provider.createContext(request, response);
    const before = await provider.Session.get(context);
    if (before.accountId !== undefined) await before.destroy();
    const session = new provider.Session();
    session.loginAccount({ accountId });
    await session.save(SESSION_SECONDS);
    context.cookies.set(names.session, session.jti, { ...options, maxAge: SESSION_SECONDS * 1_000 });
    context.cookies.set(cookie, organization, { ...options, maxAge: 365 * 86_400_000 });
    response.redirect(303, '/connections');
  }

  async revoke(provider: Provider, request: Request, response: Response): Promise<void> {
    this.#checkForm(provider, request, response);
    const visitor = await this.#visitor(provider, request, response);
    if (!visitor) return response.redirect(303, '/connections');
    const { organization, userId } = parseAccountId(visitor.accountId);
    const grantId = field(request, 'id');
    const grants = await this.#context.db.read<GrantRow>(
      credentialScope(organization, statementTime()),
      listGrantsOfUser(organization, userId),
    );
    const own = grants.find((grant) => grant.grantId === grantId);
    if (own) {
      await this.#context.db.transact(credentialScope(organization, statementTime()), async (query) => {
        await revokeGrant(query, organization, grantId);
        await query(auditEntry(organization, visitor.user.email, 'connection.revoke', grantId));
      });
    }
    await this.#showList(visitor, provider, request, response, own && `${own.client} is disconnected.`);
  }

  async signOut(provider: Provider, request: Request, response: Response): Promise<void> {
    this.#checkForm(provider, request, response);
    const session = await provider.Session.get(provider.createContext(request, response));
    if (session.accountId !== undefined) await session.destroy();
    response
      .set(PAGE_HEADERS)
      .type('html')
      .send(signedOutPage({ signIn: '/connections' }));
  }

  async #visitor(provider: Provider, request: Request, response: Response): Promise<Visitor | undefined> {
    const { accountId } = await provider.Session.get(provider.createContext(request, response));
    const user = accountId === undefined ? undefined : await loadUser(this.#context, accountId);
    return user && { accountId: accountId!, user };
  }

  async #showList(
    { accountId, user }: Visitor,
    provider: Provider,
    request: Request,
    response: Response,
    notice?: string,
  ): Promise<void> {
    const { organization, userId } = parseAccountId(accountId);
    const grants = await this.#context.db.read<GrantRow>(
      credentialScope(organization, statementTime()),
      listGrantsOfUser(organization, userId),
    );
    const page = connectionsPage({
      csrf: this.#formToken(provider, request, response),
      user: { name: user.name ?? user.email, email: user.email, organization: user.organizationName ?? organization },
      connections: grants.map(({ grantId, client, scopes, createdAt, expiresAt, lastUsedAt }) => ({
        id: grantId,
        clientName: client,
        scopes: scopes as Scope[],
        createdAt,
        expiresAt,
        lastUsedAt: lastUsedAt ?? undefined,
        revokeAction: '/connections/revoke',
      })),
      signOutAction: '/connections/sign-out',
      notice,
      address: this.#context.accessTokens.audience,
    });
    response.set(PAGE_HEADERS).type('html').send(page);
  }

  async #showSignIn(
    provider: Provider,
    request: Request,
    response: Response,
    shown?: { organization: string; email: string; error?: string },
  ): Promise<void> {
    const { organization: name } = cookieSettings(this.#context.issuer);
    const cookie = provider.createContext(request, response).cookies.get(name);
    const asked = queryOf(request).get('organization');
    const organization = shown?.organization ?? asked ?? cookie ?? this.#context.defaultOrganization ?? '';
    const organizationFixed = ORGANIZATION_ID.test(organization);
    const action = '/connections/sign-in';
    const providerName = await this.#federation.nameOf(organization);
    const page = signInPage({
      action,
      csrf: this.#formToken(provider, request, response),
      organization,
      organizationFixed,
      changeOrganization: organizationFixed ? '/connections?organization=' : undefined,
      email: shown?.email ?? '',
      error: shown?.error,
      provider: providerName === undefined ? undefined : { name: providerName, action },
    });
    response.set(PAGE_HEADERS).type('html').send(page);
  }

  /** Bound to a cookie of this browser, as nobody may be signed in yet. */
  #formToken(provider: Provider, request: Request, response: Response): string {
    const { form, options } = cookieSettings(this.#context.issuer);
    const { cookies } = provider.createContext(request, response);
    const known = cookies.get(form);
    const bound = known ?? randomBase62(22);
    if (known === undefined) cookies.set(form, bound, options);
    return this.#forms.make(`connections:${bound}`);
  }

  #checkForm(provider: Provider, request: Request, response: Response): void {
    const bound = provider.createContext(request, response).cookies.get(cookieSettings(this.#context.issuer).form);
    if (bound === undefined || !this.#forms.isGood(field(request, 'csrf'), `connections:${bound}`)) throw forged();
  }
}
