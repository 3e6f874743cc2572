import type { Request, Response } from 'express';
import type Provider from 'oidc-provider';
import { randomBase62 } from '@crs/kit/product/api-key';
import { ORGANIZATION_ID } from '@crs/kit/text';
import { SCOPES } from '../domain/access-tokens.ts';
import { auditEntry } from '../store/audit.ts';
import { insertGrant } from '../store/grants.ts';
import { keepPayload } from '../store/oidc-payloads.ts';
import { parseAccountId } from './account-id.ts';
import { loadUser } from './accounts.ts';
import { payloadKey } from './adapter.ts';
import { isLoopback, isPreRegistered } from './clients.ts';
import { credentialScope } from '@crs/kit/data/scope';
import { type SignInContext, statementTime } from './context.ts';
import { cookieSettings } from './cookies.ts';
import type { Federation, Finished } from './federation/federation.ts';
import { noProvider } from './federation/refusals.ts';
import { FormTokens } from './keys.ts';
import { consentPage } from './pages/consent.ts';
import { FLOW_HEADERS } from './pages/headers.ts';
import { continuePage } from './pages/messages.ts';
import { signInPage } from './pages/sign-in.ts';
import { checkPassword } from './passwords.ts';
import { expired, forged } from './problem.ts';
import { GRANT_SECONDS } from './provider.ts';
import { addressOf, field, queryOf } from './request.ts';

type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>;

/** Signs a person in and asks for consent, each at `/sign-in/<id>` of an authorization under way. */
export class Interactions {
  readonly #context: SignInContext;
  readonly #forms: FormTokens;
  readonly #federation: Federation;

  constructor(context: SignInContext, federation: Federation) {
    this.#context = context;
    this.#federation = federation;
    this.#forms = new FormTokens(context.secret);
  }

  async show(provider: Provider, request: Request, response: Response): Promise<void> {
    const interaction = await this.#find(provider, request, response);
    if (interaction.prompt.name === 'login') await this.#showSignIn(provider, interaction, request, response);
    else await this.#showConsent(provider, interaction, response);
  }

  async submit(provider: Provider, request: Request, response: Response): Promise<void> {
    const interaction = await this.#find(provider, request, response);
    if (!this.#forms.isGood(field(request, 'csrf'), interaction.uid)) throw forged();
    if (interaction.prompt.name === 'login') await this.#signIn(provider, interaction, request, response);
    else await this.#decide(provider, interaction, request, response);
  }

  /** Goes on after the organization's own provider. */
  async resume(provider: Provider, request: Request, response: Response, finished: Finished): Promise<void> {
    const interaction = await provider.interactionDetails(request, response);
    if (interaction.uid !== finished.uid || interaction.prompt.name !== 'login') throw expired();
    if (finished.kind === 'accepted') {
      await this.#accept(provider, interaction, request, response, finished);
      return;
    }
    const { status, organization, message: error } = finished;
    await this.#showSignIn(provider, interaction, request, response.status(status), { organization, email: '', error });
  }

  /** The interaction of this browser, which the path must name, too. */
  async #find(provider: Provider, request: Request, response: Response): Promise<Interaction> {
    const interaction = await provider.interactionDetails(request, response);
    if (interaction.uid !== request.params['uid']) throw expired();
    return interaction;
  }

  async #showSignIn(
    provider: Provider,
    interaction: Interaction,
    request: Request,
    response: Response,
    shown?: { organization: string; email: string; error?: string },
  ): Promise<void> {
    const asked = queryOf(request).get('organization');
    const cookie = provider.createContext(request, response).cookies.get(cookieSettings(this.#context.issuer).organization);
    const wanted = stringOf(interaction.params['organization']);
    const organization = shown?.organization ?? asked ?? wanted ?? cookie ?? this.#context.defaultOrganization ?? '';
    const organizationFixed = ORGANIZATION_ID.test(organization);
    const action = `/sign-in/${interaction.uid}`;
    const name = await this.#federation.nameOf(organization);
    const page = signInPage({
      action,
      csrf: this.#forms.make(interaction.uid),
      organization,
      organizationFixed,
      changeOrganization: organizationFixed ? `${action}?organization=` : undefined,
      email: shown?.email ?? stringOf(interaction.params['login_hint']) ?? '',
      error: shown?.error,
      provider: name === undefined ? undefined : { name, action },
    });
    response.set(FLOW_HEADERS).type('html').send(page);
  }

  async #signIn(provider: Provider, interaction: Interaction, request: Request, response: Response): Promise<void> {
    const organization = field(request, 'organization').trim().toLowerCase();
    const email = field(request, 'email').trim();
    const to = await this.#federation.begin(provider, request, response, { organization, uid: interaction.uid });
    if (to !== undefined) {
      response.set(FLOW_HEADERS).type('html').send(continuePage({ to }));
      return;
    }
    if (field(request, 'method') === 'provider') {
      const shown = { organization, email, error: noProvider(organization) };
      await this.#showSignIn(provider, interaction, request, response.status(422), shown);
      return;
    }
    const outcome = await checkPassword(this.#context, {
      organization,
      email,
      password: field(request, 'password'),
      address: addressOf(request),
    });
    if (outcome.kind !== 'accepted') {
      if (outcome.kind === 'throttled') response.set('Retry-After', String(outcome.retryAfterSeconds));
      response.status(outcome.kind === 'throttled' ? 429 : 422);
      await this.#showSignIn(provider, interaction, request, response, { organization, email, error: describe(outcome) });
      return;
    }
    await this.#accept(provider, interaction, request, response, { organization, accountId: outcome.accountId });
  }

  async #accept(
    provider: Provider,
    interaction: Interaction,
    request: Request,
    response: Response,
    { organization, accountId }: { organization: string; accountId: string },
  ): Promise<void> {
    const { options, organization: cookie } = cookieSettings(this.#context.issuer);
    provider.createContext(request, response).cookies.set(cookie, organization, { ...options, maxAge: 365 * 86_400_000 });
    if (interaction.session && interaction.session.accountId !== accountId) await leaveSession(provider, interaction);
    await provider.interactionFinished(request, response, { login: { accountId } }, { mergeWithLastSubmission: false });
  }

  async #showConsent(provider: Provider, interaction: Interaction, response: Response): Promise<void> {
    const { accountId, client, redirectUri, scopes } = await this.#consentOf(provider, interaction);
    const user = await loadUser(this.#context, accountId);
    if (!user) throw expired();
    const { organization } = parseAccountId(accountId);
    const page = consentPage({
      action: `/sign-in/${interaction.uid}`,
      csrf: this.#forms.make(interaction.uid),
      client: { name: nameOf(client), uri: client.clientUri, selfRegistered: !isPreRegistered(client.clientId) },
      redirectHost: hostOf(redirectUri),
      localhostOnly: isLoopback(redirectUri),
      user: { name: user.name ?? user.email, email: user.email, organization: user.organizationName ?? organization },
      scopes,
    });
    response.set(FLOW_HEADERS).type('html').send(page);
  }

  async #decide(provider: Provider, interaction: Interaction, request: Request, response: Response): Promise<void> {
    const decision = field(request, 'decision');
    if (decision === 'switch') {
      await leaveSession(provider, interaction);
      response.redirect(303, `/authorize?${new URLSearchParams(interaction.params as Record<string, string>).toString()}`);
      return;
    }
    // Who clicks twice has allowed it once.
    const connect = async () => interaction.result?.consent?.grantId ?? (await this.#connect(provider, interaction));
    const result =
      decision === 'allow'
        ? { consent: { grantId: await connect() } }
        : { error: 'access_denied', error_description: 'The user did not allow it.' };
    const to = await provider.interactionResult(request, response, result, { mergeWithLastSubmission: decision === 'allow' });
    response.set(FLOW_HEADERS).type('html').send(continuePage({ to }));
  }

  /** Makes the grant: a row that operators and the user see and may revoke, and what oidc-provider keeps of it. @returns its id */
  async #connect(provider: Provider, interaction: Interaction): Promise<string> {
    const { accountId, client, scopes } = await this.#consentOf(provider, interaction);
    const user = await loadUser(this.#context, accountId);
    if (!user) throw expired();
    const { organization, userId } = parseAccountId(accountId);
    const name = nameOf(client);
    const grant = new provider.Grant({ accountId, clientId: client.clientId });
    grant.jti = `grant_${randomBase62(16)}`;
    grant.addResourceScope(this.#context.accessTokens.audience, [...scopes]);
    await this.#context.db.transact(credentialScope(organization, statementTime()), async (query) => {
      const row = await insertGrant(query, organization, {
        grantId: grant.jti,
        userId,
        client: name,
        scopes: [...scopes],
        expiresInSeconds: GRANT_SECONDS,
      });
      await keepPayload(query, payloadKey('Client', client.clientId), row.expiresAt);
      await query(auditEntry(organization, user.email, 'connection.create', `${grant.jti} ${name}`));
    });
    await grant.save();
    return grant.jti;
  }

  async #consentOf(provider: Provider, { session, params }: Interaction) {
    const client = await provider.Client.find(stringOf(params['client_id']) ?? '');
    if (!client || !session) throw expired();
    const asked = (stringOf(params['scope']) ?? '').split(' ');
    return {
      accountId: session.accountId,
      client,
      redirectUri: stringOf(params['redirect_uri']) ?? '',
      scopes: SCOPES.filter((scope) => asked.includes(scope)),
    };
  }
}

/** Signs out in this browser, so that the authorization goes on for somebody else. */
async function leaveSession(provider: Provider, interaction: Interaction): Promise<void> {
  const session = interaction.session && (await provider.Session.findByUid(interaction.session.uid));
  await session?.destroy();
  delete interaction.session;
  await interaction.persist();
}

export function describe(outcome: { kind: 'refused' } | { kind: 'throttled'; retryAfterSeconds: number }): string {
  if (outcome.kind === 'refused') return 'Organization, e-mail and password don’t go together. Check all three.';
  const minutes = Math.ceil(outcome.retryAfterSeconds / 60);
  return `Too many tries. Wait ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}, then try again.`;
}

const MAX_NAME_LENGTH = 100;

/** What a client calls itself, fit to be shown, listed and audited. */
function nameOf({ clientName, clientId }: { clientName?: string | undefined; clientId: string }): string {
  const name = (clientName ?? '').replace(/[\p{C}\p{Z}]+/gu, ' ').trim();
  return Array.from(name || clientId)
    .slice(0, MAX_NAME_LENGTH)
    .join('');
}

/** Where people are sent, as they know it. */
function hostOf(redirectUri: string): string {
  const url = new URL(redirectUri);
  return url.host === '' || !/^https?:$/.test(url.protocol) ? `${url.protocol}//` : url.host;
}

function stringOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
