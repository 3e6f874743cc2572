import { fold, isEmail, ORGANIZATION_ID, unstorable } from '@crs/kit/text';
import { findDomainOwner } from '../store/domain-directory.ts';
import { findOidcProvider } from '../store/oidc-providers.ts';
import { credentialScopeNow, directoryScopeNow, type SignInContext } from './context.ts';
import { deviceOf, rememberDevice, REMEMBERED_MS } from './devices.ts';
import type { Federation, SignInAccepted, SignInRefused } from './federation/federation.ts';
import { sendPage, type FLOW_HEADERS } from './pages/headers.ts';
import { continuePage } from './pages/messages.ts';
import { signInPage, type SignIn } from './pages/sign-in.ts';
import { accountOf, checkPassword } from './passwords.ts';
import { field, forwardedAddress, queryOf, type Visit } from './request.ts';

export interface Place {
  action: string;
  /** The path of the page. `?organization=` there chooses another organization. */
  path: string;
  csrf: string;
  /** What the form proposes. */
  organization?: string | undefined;
  email?: string | undefined;
}

type Refusal = Pick<SignInRefused, 'status' | 'error'>;

/**
 * The sign-in form: an authorization shows it, and the list of a user's connections does. It asks for the e-mail, then for the organization
 * unless that is known, then for the password. Each page of it sends all that was given before, so the server remembers nothing.
 */
export class SignInForm {
  readonly #context: SignInContext;
  readonly #federation: Federation;
  readonly #headers: typeof FLOW_HEADERS;

  constructor(context: SignInContext, federation: Federation, headers: typeof FLOW_HEADERS) {
    this.#context = context;
    this.#federation = federation;
    this.#headers = headers;
  }

  /** Sends the form. After a refusal it repeats what the person typed and says what is wrong. */
  async show(visit: Visit, place: Place, refusal?: SignInRefused): Promise<void> {
    if (refusal) return this.#ask(visit, place, refusal.organization, '', refusal);
    const email = place.email ?? '';
    const linked = queryOf(visit.request).get('organization');
    const remembered = visit.cookies.get('organization');
    const organization = linked ?? place.organization ?? remembered ?? (await organizationOf(this.#context, email));
    await this.#ask(visit, place, organization, email, undefined, linked === '');
  }

  /**
   * Checks a form that a person sent.
   * @param uid of the authorization that goes on afterwards, if any
   * @returns undefined if the response asks for more, refuses, or leads on to the organization's own provider
   */
  async submit(visit: Visit, place: Place, uid?: string): Promise<SignInAccepted | undefined> {
    const { request, response } = visit;
    const email = field(request, 'email').trim();
    const password = field(request, 'password');
    const organization = field(request, 'organization').trim().toLowerCase() || (await organizationOf(this.#context, email));
    if (field(request, 'method') === 'provider') {
      const to = await this.#federation.begin(visit, organization, email, uid);
      if (to !== undefined) {
        sendPage(response, this.#headers, continuePage({ to }));
        return undefined;
      }
    }
    const ask = (refusal?: Refusal) => this.#ask(visit, place, organization, email, refusal);
    if ((await this.#federation.nameOf(organization)) !== undefined) return ask();
    if (password === '' || organization === '') {
      if (!isAddress(email)) return ask({ status: 422, error: 'Enter your e-mail address, such as ann@acme.example.' });
      if (organization === '' || ORGANIZATION_ID.test(organization)) return ask();
      return ask({ status: 422, error: 'The short name of an organization has only letters, digits and hyphens, at most 40.' });
    }
    const account = accountOf({ organization, email });
    const device = deviceOf(visit, account);
    const address = forwardedAddress(request);
    const outcome = await checkPassword(this.#context, { organization, email, password, address, device });
    if (outcome.kind === 'accepted') {
      rememberDevice(visit, account);
      return { ...outcome, organization };
    }
    if (outcome.kind === 'refused') return ask({ status: 422, error: 'Organization, e-mail or password is incorrect.' });
    const minutes = Math.ceil(outcome.retryAfterSeconds / 60);
    response.set('Retry-After', String(outcome.retryAfterSeconds));
    const wait = `Wait ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}, then try again.`;
    return ask({ status: 429, error: `Too many attempts. ${wait}` });
  }

  remember(visit: Visit, organization: string): void {
    visit.cookies.set('organization', organization, REMEMBERED_MS);
  }

  /** Sends the page that asks for what is missing. @param chooses whether the person wants to name another organization */
  async #ask(
    visit: Visit,
    place: Place,
    organization: string,
    email: string,
    refusal?: Refusal,
    chooses = false,
  ): Promise<undefined> {
    const isKnown = ORGANIZATION_ID.test(organization);
    const provider = await this.#federation.nameOf(organization);
    let step: SignIn['step'] = isKnown ? 'password' : 'organization';
    if (provider !== undefined) step = 'provider';
    else if (!isAddress(email) && !chooses) step = 'email';
    const page = signInPage({
      step,
      action: place.action,
      csrf: place.csrf,
      organization: isKnown || step === 'organization' ? organization : '',
      changeOrganization: `${place.path}?organization=`,
      email,
      error: refusal?.error,
      provider,
    });
    if (refusal) visit.response.status(refusal.status);
    sendPage(visit.response, this.#headers, page);
  }
}

/**
 * The organization that the domain of this e-mail belongs to, or else the default one. Empty: the page has to ask for the organization.
 *
 * The default organization stands in only while it signs its users in with passwords. If it has a provider, its domains name its people,
 * and nobody else may be sent there. Accounts are never looked up: the page would tell an unauthenticated client who has one.
 */
async function organizationOf({ db, defaultOrganization }: SignInContext, email: string): Promise<string> {
  if (!isAddress(email)) return '';
  const [owner] = await db.read(directoryScopeNow(), findDomainOwner(fold(email).split('@')[1]!));
  if (owner) return owner.organization;
  if (defaultOrganization === undefined) return '';
  const [provider] = await db.read(credentialScopeNow(defaultOrganization), findOidcProvider(defaultOrganization));
  return provider ? '' : defaultOrganization;
}

function isAddress(email: string): boolean {
  return isEmail(email) && unstorable(email) === undefined;
}
