import { randomBase62 } from '@crs/kit/api-key';
import { auditEntry } from '../store/audit.ts';
import { listConsentsOfUser, revokeConsent, type ConsentRow } from '../store/consents.ts';
import type { LiveUserRow } from '../store/users.ts';
import { loadUser, parseAccountId } from './accounts.ts';
import { credentialScopeNow, type SignInContext } from './context.ts';
import type { Federation, SignInResult } from './federation/federation.ts';
import { connectionsPage } from './pages/connections.ts';
import { PAGE_HEADERS, sendPage } from './pages/headers.ts';
import { signedOutPage } from './pages/messages.ts';
import { SESSION_SECONDS } from './provider.ts';
import { field, FormTokens, logUser, sessionOf, type Visit } from './request.ts';
import { rememberOrganization, SignInForm, type FormOptions } from './sign-in-form.ts';

interface Visitor {
  organization: string;
  userId: string;
  user: LiveUserRow;
}

/** The page `/connections`, on which a user sees and disconnects the connected assistants. */
export class Connections {
  readonly #context: SignInContext;
  readonly #forms: FormTokens;
  readonly #signIn: SignInForm;

  constructor(context: SignInContext, federation: Federation) {
    this.#context = context;
    this.#forms = new FormTokens(context.secrets);
    this.#signIn = new SignInForm(context, federation, PAGE_HEADERS);
  }

  async show(visit: Visit): Promise<void> {
    const visitor = await this.#visitor(visit);
    await (visitor ? this.#showList(visitor, visit) : this.#signIn.show(visit, this.#formOf(visit)));
  }

  async signIn(visit: Visit): Promise<void> {
    this.#checkForm(visit);
    const result = await this.#signIn.submit(visit, this.#formOf(visit));
    if (result) await this.resume(visit, result);
  }

  /** Continues after the form, or after the sign-in at the organization's own provider. */
  async resume(visit: Visit, result: SignInResult): Promise<void> {
    if (result.kind === 'refused') return this.#signIn.show(visit, this.#formOf(visit), result);
    const { provider, response, cookies } = visit;
    const previous = await sessionOf(visit);
    if (previous.accountId !== undefined) await previous.destroy();
    logUser(response, result.accountId);
    const session = new provider.Session();
    session.loginAccount({ accountId: result.accountId });
    await session.save(SESSION_SECONDS);
    cookies.set('session', session.jti, SESSION_SECONDS * 1_000);
    rememberOrganization(visit, result.organization);
    response.redirect(303, '/connections');
  }

  async revoke(visit: Visit): Promise<void> {
    this.#checkForm(visit);
    const visitor = await this.#visitor(visit);
    if (!visitor) return visit.response.redirect(303, '/connections');
    const { organization, user } = visitor;
    const grantId = field(visit.request, 'id');
    const own = (await this.#consentsOf(visitor)).find((consent) => consent.grantId === grantId);
    if (own) {
      await this.#context.db.transact(credentialScopeNow(organization), async (query) => {
        await revokeConsent(query, organization, grantId);
        await query(auditEntry(organization, user.email, 'connection.revoke', grantId));
      });
    }
    await this.#showList(visitor, visit, own && `${nameOf(own)} is disconnected.`);
  }

  async signOut(visit: Visit): Promise<void> {
    this.#checkForm(visit);
    const session = await sessionOf(visit);
    if (session.accountId !== undefined) await session.destroy();
    // Not "cookies": browsers would also clear those of sibling hosts, and the device cookie.
    visit.response.set('Clear-Site-Data', '"cache", "storage"');
    sendPage(visit.response, PAGE_HEADERS, signedOutPage());
  }

  async #visitor(visit: Visit): Promise<Visitor | undefined> {
    const { accountId } = await sessionOf(visit);
    const user = accountId !== undefined && (await loadUser(this.#context, accountId));
    if (!user) return undefined;
    logUser(visit.response, accountId);
    return { ...parseAccountId(accountId), user };
  }

  #consentsOf({ organization, userId }: Visitor) {
    return this.#context.db.read(credentialScopeNow(organization), listConsentsOfUser(organization, userId));
  }

  async #showList(visitor: Visitor, visit: Visit, notice?: string): Promise<void> {
    const { organization, user } = visitor;
    const consents = await this.#consentsOf(visitor);
    const page = connectionsPage({
      csrf: this.#formToken(visit),
      user: { name: user.name ?? user.email, email: user.email, organization: user.organizationName ?? organization },
      connections: consents.map((consent) => ({ ...consent, client: nameOf(consent) })),
      notice,
      address: this.#context.accessTokens.audience,
    });
    sendPage(visit.response, PAGE_HEADERS, page);
  }

  #formOf(visit: Visit): FormOptions {
    return { action: '/connections/sign-in', path: '/connections', csrf: this.#formToken(visit) };
  }

  /** A CSRF token, bound to the browser by a cookie, because the user may not be signed in yet. */
  #formToken(visit: Visit): string {
    const known = visit.cookies.get('form');
    const browser = known ?? randomBase62(22);
    if (known === undefined) visit.cookies.set('form', browser);
    return this.#forms.make(`connections:${browser}`);
  }

  #checkForm(visit: Visit): void {
    this.#forms.check(visit.request, `connections:${visit.cookies.get('form')}`);
  }
}

function nameOf({ kind, client }: ConsentRow): string {
  return kind === 'operator' ? 'A token made by your administrator' : client;
}
