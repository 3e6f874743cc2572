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

export interface FormOptions {
  action: string;
  /** The path of the page. Its parameter `organization` selects another organization. */
  path: string;
  csrf: string;
  /** Initial values. */
  organization?: string | undefined;
  email?: string | undefined;
}

type FormError = Pick<SignInRefused, 'status' | 'error'>;

/**
 * The sign-in form of an authorization and of `/connections`. Its pages request the e-mail, then the organization unless it is known, then
 * the password. Each page submits all earlier input again, so the server keeps no state.
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

  /** Sends the form. After a refusal it proposes the organization again, and shows the error. */
  async show(visit: Visit, form: FormOptions, refusal?: SignInRefused): Promise<void> {
    if (refusal) return this.#showStep(visit, form, refusal.organization, '', refusal);
    const email = form.email ?? '';
    const linked = queryOf(visit.request).get('organization');
    const remembered = visit.cookies.get('organization');
    const organization = linked ?? form.organization ?? remembered ?? (await organizationOf(this.#context, email));
    await this.#showStep(visit, form, organization, email, undefined, linked === '');
  }

  /**
   * Handles a submitted form.
   * @param uid of the authorization that continues afterwards, if any
   * @returns undefined if the response is a page for further input, refuses the sign-in, or leads to the organization's own provider
   */
  async submit(visit: Visit, form: FormOptions, uid?: string): Promise<SignInAccepted | undefined> {
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
    const ask = (refusal?: FormError) => this.#showStep(visit, form, organization, email, refusal);
    if ((await this.#federation.nameOf(organization)) !== undefined) return ask();
    if (password === '' || organization === '') {
      if (!isAddress(email)) return ask({ status: 422, error: 'Enter your e-mail address, such as ann@acme.example.' });
      if (organization === '' || ORGANIZATION_ID.test(organization)) return ask();
      return ask({ status: 422, error: 'The short name of an organization has only letters, digits and hyphens, at most 40.' });
    }
    const account = accountOf({ organization, email });
    const device = deviceOf(visit, account);
    const address = forwardedAddress(request);
    const result = await checkPassword(this.#context, { organization, email, password, address, device });
    if (result.kind === 'accepted') {
      rememberDevice(visit, account);
      return { ...result, organization };
    }
    if (result.kind === 'refused') return ask({ status: 422, error: 'Organization, e-mail or password is incorrect.' });
    const minutes = Math.ceil(result.retryAfterSeconds / 60);
    response.set('Retry-After', String(result.retryAfterSeconds));
    const wait = minutes === 1 ? '1 minute' : `${minutes} minutes`;
    return ask({ status: 429, error: `Too many attempts. Wait ${wait}, then try again.` });
  }

  /** Sends the page for the missing input. @param chooses whether the user wants to name another organization */
  async #showStep(
    visit: Visit,
    form: FormOptions,
    organization: string,
    email: string,
    refusal?: FormError,
    chooses = false,
  ): Promise<undefined> {
    const isKnown = ORGANIZATION_ID.test(organization);
    const provider = await this.#federation.nameOf(organization);
    let step: SignIn['step'] = isKnown ? 'password' : 'organization';
    if (provider !== undefined) step = 'provider';
    else if (!isAddress(email) && !chooses) step = 'email';
    const page = signInPage({
      step,
      action: form.action,
      csrf: form.csrf,
      organization: isKnown || step === 'organization' ? organization : '',
      changeOrganization: `${form.path}?organization=`,
      email,
      error: refusal?.error,
      provider,
    });
    if (refusal) visit.response.status(refusal.status);
    sendPage(visit.response, this.#headers, page);
  }
}

/** Remembers the organization in a cookie, for the browser's next sign-in. */
export function rememberOrganization({ cookies }: Visit, organization: string): void {
  cookies.set('organization', organization, REMEMBERED_MS);
}

/**
 * The organization that owns the e-mail's domain, or else the default one. Empty: the page has to ask for the organization.
 *
 * The default organization counts only while its users sign in with passwords. If it has a provider, its domains identify its users, and
 * nobody else may be sent there. Never looks accounts up: the page would reveal to unauthenticated clients who has one.
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
