import type { Client, default as Provider, InteractionResults } from 'oidc-provider';
import { randomBase62 } from '@crs/kit/api-key';
import { OAUTH_SCOPES, type OAuthScope } from '@crs/kit/rpc/scopes';
import { auditEntry } from '../store/audit.ts';
import { admitsClient, insertConsent } from '../store/consents.ts';
import { keepPayload, noteBrowser } from '../store/oidc-payloads.ts';
import { lockEnabledUser, type LiveUserRow } from '../store/users.ts';
import { loadUser, parseAccountId, type Account } from './accounts.ts';
import { payloadKey } from './adapter.ts';
import { clientNameOf, sourceOf } from './clients.ts';
import { credentialScopeNow, directoryScopeNow, type SignInContext } from './context.ts';
import type { FederatedResult, Federation, SignInResult } from './federation/federation.ts';
import { consentPage } from './pages/consent.ts';
import { FLOW_HEADERS, sendPage } from './pages/headers.ts';
import { continuePage } from './pages/messages.ts';
import { notAdmittedPage } from './pages/not-admitted.ts';
import { expired } from './page-error.ts';
import { CONSENT_SECONDS } from './provider.ts';
import { recordRefusal } from './record-refusal.ts';
import { field, FormTokens, forwardedAddress, logUser, type Visit } from './request.ts';
import { rememberOrganization, SignInForm, type FormOptions } from './sign-in-form.ts';

type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>;

/** A visit to `/sign-in/<uid>`, and the authorization that it belongs to. */
interface InteractionVisit extends Visit {
  interaction: Interaction;
}

/** A client's request to the signed-in user. */
interface ConsentRequest extends Account {
  accountId: string;
  user: LiveUserRow;
  client: Client;
  /** Whether the organization lets its users connect the client. */
  isAdmitted: boolean;
  name: string;
  redirectUri: string;
  scopes: OAuthScope[];
}

/** Signs a user in and gets the user's consent, on pages at `/sign-in/<uid>`. */
export class Interactions {
  readonly #context: SignInContext;
  readonly #forms: FormTokens;
  readonly #signIn: SignInForm;

  constructor(context: SignInContext, federation: Federation) {
    this.#context = context;
    this.#forms = new FormTokens(context.secrets);
    this.#signIn = new SignInForm(context, federation, FLOW_HEADERS);
  }

  async show(plain: Visit): Promise<void> {
    const visit = await withInteraction(plain, plain.request.params['uid']);
    const { uid, params, prompt } = visit.interaction;
    const client = payloadKey('Client', stringOf(params['client_id']) ?? '');
    await this.#context.db.run(directoryScopeNow(), noteBrowser(payloadKey('Interaction', uid), client));
    if (prompt.name === 'login') await this.#signIn.show(visit, this.#formOf(visit));
    else await this.#showConsent(visit);
  }

  async submit(plain: Visit): Promise<void> {
    const visit = await withInteraction(plain, plain.request.params['uid']);
    const { uid, prompt } = visit.interaction;
    this.#forms.check(visit.request, uid);
    if (prompt.name !== 'login') return this.#decide(visit);
    const result = await this.#signIn.submit(visit, this.#formOf(visit), uid);
    if (result) await this.#continue(visit, result);
  }

  /** Continues after the sign-in at the organization's own provider. */
  async resume(plain: Visit, result: FederatedResult): Promise<void> {
    const visit = await withInteraction(plain, result.uid);
    if (visit.interaction.prompt.name !== 'login') throw expired();
    await this.#continue(visit, result);
  }

  async #continue(visit: InteractionVisit, result: SignInResult): Promise<void> {
    if (result.kind === 'refused') return this.#signIn.show(visit, this.#formOf(visit), result);
    const { provider, request, response, interaction } = visit;
    const { organization, accountId } = result;
    logUser(response, accountId);
    rememberOrganization(visit, organization);
    if (interaction.session && interaction.session.accountId !== accountId) await endSession(visit);
    await provider.interactionFinished(request, response, { login: { accountId } }, { mergeWithLastSubmission: false });
  }

  #formOf({ interaction: { uid, params } }: InteractionVisit): FormOptions {
    const path = `/sign-in/${uid}`;
    const organization = stringOf(params['organization']);
    const email = stringOf(params['login_hint']);
    return { action: path, path, csrf: this.#forms.make(uid), organization, email };
  }

  async #showConsent(visit: InteractionVisit): Promise<void> {
    const request = await this.#requestOf(visit);
    if (!request.isAdmitted) return this.#showNotAdmitted(visit, request);
    const { user, organization, client, name, redirectUri, scopes } = request;
    const page = consentPage({
      action: `/sign-in/${visit.interaction.uid}`,
      csrf: this.#forms.make(visit.interaction.uid),
      client: { name, source: sourceOf(client.clientId) },
      redirect: { host: hostOf(redirectUri), isApp: !/^https:/i.test(redirectUri) },
      user: { name: user.name ?? user.email, email: user.email, organization: user.organizationName ?? organization },
      scopes,
    });
    sendPage(visit.response, FLOW_HEADERS, page);
  }

  /** The organization admits only listed clients, and this one isn't. */
  async #showNotAdmitted(visit: InteractionVisit, { user, organization, client, name }: ConsentRequest): Promise<void> {
    const { uid } = visit.interaction;
    await recordRefusal(this.#context, {
      organization,
      action: 'connection.refuse',
      reason: 'client not listed',
      target: `client not listed: ${client.clientId}`.slice(0, 200),
      outcome: 'permission_denied',
      address: forwardedAddress(visit.request),
    });
    const page = notAdmittedPage({
      action: `/sign-in/${uid}`,
      csrf: this.#forms.make(uid),
      client: { name, source: sourceOf(client.clientId) },
      user: { name: user.name ?? user.email, email: user.email, organization: user.organizationName ?? organization },
    });
    sendPage(visit.response.status(403), FLOW_HEADERS, page);
  }

  async #decide(visit: InteractionVisit): Promise<void> {
    const { provider, request, response, interaction } = visit;
    const decision = field(request, 'decision');
    if (decision === 'switch') {
      await endSession(visit);
      response.redirect(303, `/authorize?${new URLSearchParams(interaction.params as Record<string, string>).toString()}`);
      return;
    }
    let result: InteractionResults = { error: 'access_denied', error_description: 'The user did not allow it.' };
    if (decision === 'allow') {
      const asked = await this.#requestOf(visit);
      if (!asked.isAdmitted) return this.#showNotAdmitted(visit, asked);
      // A second click on "Allow" reuses the consent of the first.
      result = { consent: { grantId: interaction.result?.consent?.grantId ?? (await this.#recordConsent(visit, asked)) } };
    }
    const to = await provider.interactionResult(request, response, result, { mergeWithLastSubmission: decision === 'allow' });
    sendPage(response, FLOW_HEADERS, continuePage({ to }));
  }

  /** Stores the consent that operators and the user can see and revoke, and oidc-provider's own Grant. @returns the id of both */
  async #recordConsent({ provider }: InteractionVisit, request: ConsentRequest): Promise<string> {
    const { accountId, user, organization, userId, sessionVersion, client, name, scopes } = request;
    const grant = new provider.Grant({ accountId, clientId: client.clientId });
    grant.jti = `grant_${randomBase62(16)}`;
    grant.addResourceScope(this.#context.accessTokens.audience, scopes);
    await this.#context.db.transact(credentialScopeNow(organization), async (query) => {
      // An operator may disable the user, or end the session, while this runs.
      const [enabled] = await query(lockEnabledUser(organization, userId));
      if (enabled?.sessionVersion !== sessionVersion) throw expired();
      const { clientId } = client;
      const redirectHosts = redirectHostsOf(client.redirectUris ?? []);
      const consent = { kind: 'oauth', clientId, client: name, redirectHosts, grantId: grant.jti, userId, scopes } as const;
      const [inserted] = await query(insertConsent(organization, { ...consent, expiresInSeconds: CONSENT_SECONDS }));
      await query(keepPayload(payloadKey('Client', client.clientId), inserted!.expiresAt));
      await query(auditEntry(organization, user.email, 'connection.create', `${grant.jti} ${name}`));
    });
    await grant.save();
    return grant.jti;
  }

  /** The client's request to the signed-in user. @throws PageError if the client or the user no longer exists */
  async #requestOf({ provider, response, interaction: { session, params } }: InteractionVisit): Promise<ConsentRequest> {
    const client = await provider.Client.find(stringOf(params['client_id']) ?? '');
    const user = session && (await loadUser(this.#context, session.accountId));
    if (!client || !user) throw expired();
    logUser(response, session.accountId);
    const requested = (stringOf(params['scope']) ?? '').split(' ');
    const account = parseAccountId(session.accountId);
    const { organization } = account;
    const admission = admitsClient(organization, client.clientId);
    const [admitted] = await this.#context.db.read(credentialScopeNow(organization), admission);
    return {
      ...account,
      accountId: session.accountId,
      user,
      client,
      isAdmitted: admitted?.isAdmitted === true,
      name: clientNameOf(client),
      redirectUri: stringOf(params['redirect_uri']) ?? '',
      scopes: OAUTH_SCOPES.filter((scope) => requested.includes(scope)),
    };
  }
}

/** Adds the browser's current authorization to a visit. @throws PageError if it isn't the one with this uid */
async function withInteraction(visit: Visit, uid: unknown): Promise<InteractionVisit> {
  const interaction = await visit.provider.interactionDetails(visit.request, visit.response);
  if (interaction.uid !== uid) throw expired();
  return { ...visit, interaction };
}

/** Signs the browser out, so that another user can continue the authorization. */
async function endSession({ provider, interaction }: InteractionVisit): Promise<void> {
  const session = interaction.session && (await provider.Session.findByUid(interaction.session.uid));
  await session?.destroy();
  delete interaction.session;
  await interaction.persist();
}

/** The part of a redirect URI that users recognize: `claude.ai`, `localhost:33418` or `cursor://`. */
function hostOf(redirectUri: string): string {
  const url = new URL(redirectUri);
  return url.host === '' || !/^https?:$/.test(url.protocol) ? `${url.protocol}//` : url.host;
}

/** The hosts of a client's redirect URIs. Loopback addresses have no port here, because an app may use another one each time. */
function redirectHostsOf(redirectUris: readonly string[]): string[] {
  const hosts = redirectUris.map((uri) => (uri.startsWith('http:') ? new URL(uri).hostname : hostOf(uri)));
  return [...new Set(hosts)].sort();
}

function stringOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
