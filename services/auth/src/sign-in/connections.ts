import { randomBase62 } from '@crs/kit/api-key';
import { OAUTH_SCOPES } from '@crs/kit/rpc/scopes';
import { auditEntry } from '../store/audit.ts';
import { listConsentsOfUser, revokeConsent, type ConsentRow } from '../store/consents.ts';
import type { LiveUserRow } from '../store/users.ts';
import { loadUser, parseAccountId, type Account } from './accounts.ts';
import { sourceOf } from './clients.ts';
import { groupByClient } from './connection-groups.ts';
import { credentialScopeNow, type SignInContext } from './context.ts';
import type { Federation, SignInResult } from './federation/federation.ts';
import { DEFAULT_DAYS, makeOwnToken, MAX_DAYS, MAX_LABEL, tokenRequestOf } from './own-tokens.ts';
import { connectionsPage, type Connection } from './pages/connections.ts';
import { PAGE_HEADERS, sendPage } from './pages/headers.ts';
import { signedOutPage } from './pages/messages.ts';
import { newTokenPage, type TokenForm } from './pages/own-tokens.ts';
import { SESSION_SECONDS } from './provider.ts';
import { field, FormTokens, logUser, queryOf, sessionOf, type Visit } from './request.ts';
import { rememberOrganization, SignInForm, type FormOptions } from './sign-in-form.ts';

interface Visitor extends Account {
  user: LiveUserRow;
  /** When the user signed in, in epoch seconds. */
  signedInAt: number;
}

/** A stolen browser session must not yield a token, which would outlive it. */
const FRESH_SECONDS = 600;

/** The page `/connections`, on which a user sees and disconnects the connected assistants, and makes tokens. */
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
    const isAgain = queryOf(visit.request).has('sign-in');
    await (visitor && !isAgain ? this.#showList(visitor, visit) : this.#signIn.show(visit, this.#formOf(visit, visitor)));
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
    const id = field(visit.request, 'id');
    const group = groupByClient(await this.#consentsOf(visitor)).find((grants) => grants.some(({ grantId }) => grantId === id));
    if (!group) return this.#showList(visitor, visit);
    await this.#context.db.transact(credentialScopeNow(organization), async (query) => {
      for (const { grantId, kind } of group) {
        await revokeConsent(query, organization, grantId);
        const action = kind === 'own' ? 'token.revoke' : 'connection.revoke';
        await query(auditEntry(organization, user.email, action, grantId));
      }
    });
    await this.#showList(visitor, visit, { notice: noticeOf(group[0]) });
  }

  async createToken(visit: Visit): Promise<void> {
    this.#checkForm(visit);
    const visitor = await this.#visitor(visit);
    if (!visitor || !isFresh(visitor)) return visit.response.redirect(303, '/connections?sign-in=again');
    const request = tokenRequestOf(visit.request);
    const made = await makeOwnToken(this.#context, visitor, request);
    if ('error' in made) {
      visit.response.status(422);
      return this.#showList(visitor, visit, { form: { ...request, error: made.error } });
    }
    const page = newTokenPage({ ...made, address: this.#context.accessTokens.audience });
    sendPage(visit.response, PAGE_HEADERS, page);
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
    const { accountId, loginTs = 0 } = await sessionOf(visit);
    const user = accountId !== undefined && (await loadUser(this.#context, accountId));
    if (!user) return undefined;
    logUser(visit.response, accountId);
    return { ...parseAccountId(accountId), user, signedInAt: loginTs };
  }

  #consentsOf({ organization, userId }: Visitor) {
    return this.#context.db.read(credentialScopeNow(organization), listConsentsOfUser(organization, userId));
  }

  /** @param form what the user typed into the form for a token, and what is wrong with it */
  async #showList(visitor: Visitor, visit: Visit, { notice, form }: { notice?: string; form?: Partial<TokenForm> } = {}) {
    const { organization, user } = visitor;
    const groups = groupByClient(await this.#consentsOf(visitor));
    const isToken = ([{ kind }]: [ConsentRow, ...ConsentRow[]]) => kind === 'own';
    const tokens = groups.filter(isToken).map(toConnection);
    const page = connectionsPage({
      csrf: this.#formToken(visit),
      user: { name: user.name ?? user.email, email: user.email, organization: user.organizationName ?? organization },
      connections: groups.filter((group) => !isToken(group)).map(toConnection),
      ownTokens: user.ownTokens ? { tokens, form: isFresh(visitor) ? { ...EMPTY_FORM, ...form } : undefined } : undefined,
      notice,
      address: this.#context.accessTokens.audience,
    });
    sendPage(visit.response, PAGE_HEADERS, page);
  }

  #formOf(visit: Visit, visitor?: Visitor): FormOptions {
    const form = { action: '/connections/sign-in', path: '/connections', csrf: this.#formToken(visit) };
    return { ...form, organization: visitor?.organization, email: visitor?.user.email };
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

const EMPTY_FORM: TokenForm = {
  label: '',
  scopes: OAUTH_SCOPES,
  days: String(DEFAULT_DAYS),
  maxLabel: MAX_LABEL,
  maxDays: MAX_DAYS,
};

function isFresh({ signedInAt }: Visitor): boolean {
  return Date.now() / 1_000 - signedInAt < FRESH_SECONDS;
}

function toConnection(grants: [ConsentRow, ...ConsentRow[]]): Connection {
  const [newest] = grants;
  const { grantId: id, clientId, redirectHosts, kind } = newest;
  const used = grants.flatMap(({ lastUsedAt }) => lastUsedAt ?? []);
  return {
    id,
    name: nameOf(newest),
    source: clientId === null ? undefined : sourceOf(clientId),
    redirectHosts,
    isManaged: kind === 'managed',
    count: grants.length,
    scopes: OAUTH_SCOPES.filter((scope) => grants.some(({ scopes }) => scopes.includes(scope))),
    createdAt: grants.at(-1)!.createdAt,
    expiresAt: latest(grants.map(({ expiresAt }) => expiresAt)),
    lastUsedAt: used.length === 0 ? null : latest(used),
  };
}

function latest(times: readonly Date[]): Date {
  return new Date(Math.max(...times.map(Number)));
}

function noticeOf(grant: ConsentRow): string {
  const name = nameOf(grant);
  if (grant.kind === 'own') return `The token ${name} is revoked.`;
  const disconnected = `${name} is disconnected.`;
  if (grant.kind !== 'managed') return disconnected;
  return `${disconnected} It comes back when your organization’s directory next uses it.`;
}

function nameOf({ kind, client }: ConsentRow): string {
  return kind === 'operator' ? 'A token made by your administrator' : client;
}
