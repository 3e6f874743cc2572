import type Provider from 'oidc-provider';
import { randomBase62 } from '@crs/kit/api-key';
import { OAUTH_SCOPES } from '@crs/kit/rpc/scopes';
import { auditEntry } from '../store/audit.ts';
import { insertConsent, OPERATORS_CLIENT } from '../store/consents.ts';
import { keepPayload, noteBrowser } from '../store/oidc-payloads.ts';
import { lockEnabledUser } from '../store/users.ts';
import { loadUser, parseAccountId } from './accounts.ts';
import { payloadKey } from './adapter.ts';
import { isPreRegistered } from './clients.ts';
import { credentialScopeNow, directoryScopeNow, type SignInContext } from './context.ts';
import type { Federation, Finished, SignInResult } from './federation/federation.ts';
import { consentPage, type Client } from './pages/consent.ts';
import { FLOW_HEADERS, sendPage } from './pages/headers.ts';
import { continuePage } from './pages/messages.ts';
import { expired } from './problem.ts';
import { CONSENT_SECONDS } from './provider.ts';
import { field, FormTokens, noteUser, type Visit } from './request.ts';
import { SignInForm, type Place } from './sign-in-form.ts';

type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>;

/** A visit to `/sign-in/<uid>`, and the authorization that it belongs to. */
interface Step extends Visit {
  interaction: Interaction;
}

/** Signs a person in and asks for consent, on pages at `/sign-in/<uid>`. */
export class Interactions {
  readonly #context: SignInContext;
  readonly #forms: FormTokens;
  readonly #signIn: SignInForm;

  constructor(context: SignInContext, federation: Federation) {
    this.#context = context;
    this.#forms = new FormTokens(context.secrets);
    this.#signIn = new SignInForm(context, federation, FLOW_HEADERS);
  }

  async show(visit: Visit): Promise<void> {
    const step = await stepOf(visit, visit.request.params['uid']);
    const { uid, params } = step.interaction;
    const client = payloadKey('Client', stringOf(params['client_id']) ?? '');
    await this.#context.db.run(directoryScopeNow(), noteBrowser(payloadKey('Interaction', uid), client));
    if (step.interaction.prompt.name === 'login') await this.#signIn.show(step, this.#place(step));
    else await this.#showConsent(step);
  }

  async submit(visit: Visit): Promise<void> {
    const step = await stepOf(visit, visit.request.params['uid']);
    const { uid, prompt } = step.interaction;
    this.#forms.check(visit.request, uid);
    if (prompt.name !== 'login') return this.#decide(step);
    const result = await this.#signIn.submit(visit, this.#place(step), uid);
    if (result) await this.#goOn(step, result);
  }

  /** Goes on after the organization's own provider. */
  async resume(visit: Visit, finished: Finished): Promise<void> {
    const step = await stepOf(visit, finished.uid);
    if (step.interaction.prompt.name !== 'login') throw expired();
    await this.#goOn(step, finished);
  }

  async #goOn(step: Step, result: SignInResult): Promise<void> {
    if (result.kind === 'refused') return this.#signIn.show(step, this.#place(step), result);
    const { provider, request, response, interaction } = step;
    const { organization, accountId } = result;
    noteUser(response, accountId);
    this.#signIn.remember(step, organization);
    if (interaction.session && interaction.session.accountId !== accountId) await leaveSession(step);
    await provider.interactionFinished(request, response, { login: { accountId } }, { mergeWithLastSubmission: false });
  }

  #place({ interaction: { uid, params } }: Step): Place {
    const path = `/sign-in/${uid}`;
    const organization = stringOf(params['organization']);
    const email = stringOf(params['login_hint']);
    return { action: path, path, csrf: this.#forms.make(uid), organization, email };
  }

  async #showConsent(step: Step): Promise<void> {
    const { user, organization, client, name, redirectUri, scopes } = await this.#requestOf(step);
    const page = consentPage({
      action: `/sign-in/${step.interaction.uid}`,
      csrf: this.#forms.make(step.interaction.uid),
      client: { name, source: sourceOf(client.clientId) },
      redirect: { host: hostOf(redirectUri), isApp: !/^https:/i.test(redirectUri) },
      user: { name: user.name ?? user.email, email: user.email, organization: user.organizationName ?? organization },
      scopes,
    });
    sendPage(step.response, FLOW_HEADERS, page);
  }

  async #decide(step: Step): Promise<void> {
    const { provider, request, response, interaction } = step;
    const decision = field(request, 'decision');
    if (decision === 'switch') {
      await leaveSession(step);
      response.redirect(303, `/authorize?${new URLSearchParams(interaction.params as Record<string, string>).toString()}`);
      return;
    }
    // A second click on "Allow" uses the consent of the first.
    const consent = async () => interaction.result?.consent?.grantId ?? (await this.#recordConsent(step));
    const result =
      decision === 'allow'
        ? { consent: { grantId: await consent() } }
        : { error: 'access_denied', error_description: 'The user did not allow it.' };
    const to = await provider.interactionResult(request, response, result, { mergeWithLastSubmission: decision === 'allow' });
    sendPage(response, FLOW_HEADERS, continuePage({ to }));
  }

  /** Writes a row that operators and the user see and can revoke, and oidc-provider's own Grant. @returns the id of both */
  async #recordConsent(step: Step): Promise<string> {
    const { accountId, user, organization, userId, sessionVersion, client, name, scopes } = await this.#requestOf(step);
    const grant = new step.provider.Grant({ accountId, clientId: client.clientId });
    grant.jti = `grant_${randomBase62(16)}`;
    grant.addResourceScope(this.#context.accessTokens.audience, scopes);
    await this.#context.db.transact(credentialScopeNow(organization), async (query) => {
      // An operator may disable the user, or end the session, while this runs.
      const [enabled] = await query(lockEnabledUser(organization, userId));
      if (enabled?.sessionVersion !== sessionVersion) throw expired();
      const statement = insertConsent(organization, {
        grantId: grant.jti,
        userId,
        client: name,
        scopes,
        expiresInSeconds: CONSENT_SECONDS,
      });
      const [consent] = await query(statement);
      await query(keepPayload(payloadKey('Client', client.clientId), consent!.expiresAt));
      await query(auditEntry(organization, user.email, 'connection.create', `${grant.jti} ${name}`));
    });
    await grant.save();
    return grant.jti;
  }

  /** What the client asks of the user who is signed in. @throws Problem if the client or the user is gone */
  async #requestOf({ provider, response, interaction: { session, params } }: Step) {
    const client = await provider.Client.find(stringOf(params['client_id']) ?? '');
    const user = session && (await loadUser(this.#context, session.accountId));
    if (!client || !user) throw expired();
    noteUser(response, session.accountId);
    const asked = (stringOf(params['scope']) ?? '').split(' ');
    return {
      ...parseAccountId(session.accountId),
      accountId: session.accountId,
      user,
      client,
      name: nameOf(client),
      redirectUri: stringOf(params['redirect_uri']) ?? '',
      scopes: OAUTH_SCOPES.filter((scope) => asked.includes(scope)),
    };
  }
}

/** The authorization that this browser is in. @throws Problem if it isn't the one with this uid */
async function stepOf(visit: Visit, uid: unknown): Promise<Step> {
  const interaction = await visit.provider.interactionDetails(visit.request, visit.response);
  if (interaction.uid !== uid) throw expired();
  return { ...visit, interaction };
}

/** Signs out in this browser, so that somebody else can go on with the authorization. */
async function leaveSession({ provider, interaction }: Step): Promise<void> {
  const session = interaction.session && (await provider.Session.findByUid(interaction.session.uid));
  await session?.destroy();
  delete interaction.session;
  await interaction.persist();
}

const MAX_NAME_LENGTH = 100;

/**
 * The client's own name, without invisible characters and not too long for a page, a list or the audit trail. The name of operators' tokens
 * is not the client's own.
 */
function nameOf({ clientName, clientId }: { clientName?: string | undefined; clientId: string }): string {
  const name = (clientName ?? '').replace(/[\p{C}\p{Z}]+/gu, ' ').trim();
  return Array.from(name === OPERATORS_CLIENT ? clientId : name || clientId)
    .slice(0, MAX_NAME_LENGTH)
    .join('');
}

function sourceOf(clientId: string): Client['source'] {
  if (isPreRegistered(clientId)) return { kind: 'operator' };
  const host = URL.parse(clientId)?.host;
  return host === undefined ? { kind: 'self' } : { kind: 'document', host };
}

/** The part of a redirect URI that people recognize: `claude.ai`, `localhost:33418` or `cursor://`. */
function hostOf(redirectUri: string): string {
  const url = new URL(redirectUri);
  return url.host === '' || !/^https?:$/.test(url.protocol) ? `${url.protocol}//` : url.host;
}

function stringOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
