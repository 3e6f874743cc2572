import { ORGANIZATION_ID } from '@crs/kit/text';
import type { SignInContext } from './context.ts';
import { cookieSettings } from './cookies.ts';
import type { Federation, SignInRefused, SignInResult } from './federation/federation.ts';
import { noProvider } from './federation/refusals.ts';
import type { FLOW_HEADERS } from './pages/headers.ts';
import { continuePage } from './pages/messages.ts';
import { signInPage } from './pages/sign-in.ts';
import { checkPassword } from './passwords.ts';
import { cookiesOf, field, forwardedAddress, queryOf, type Visit } from './request.ts';

const REMEMBERED_MS = 365 * 86_400_000;

interface Place {
  /** The path of the form's target. */
  action: string;
  /** The path of the page that shows the form. `?organization=` there chooses another organization. */
  path: string;
  csrf: string;
  /** What the form proposes. */
  organization?: string | undefined;
  email?: string | undefined;
}

/** The sign-in form: an authorization shows it, and the list of a user's connections does. */
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
    const { request, response } = visit;
    const organization =
      refusal?.organization ??
      queryOf(request).get('organization') ??
      place.organization ??
      cookiesOf(visit).get(cookieSettings(this.#context.issuer).organization) ??
      this.#context.defaultOrganization ??
      '';
    const organizationFixed = ORGANIZATION_ID.test(organization);
    const name = await this.#federation.nameOf(organization);
    const page = signInPage({
      action: place.action,
      csrf: place.csrf,
      organization,
      organizationFixed,
      changeOrganization: organizationFixed ? `${place.path}?organization=` : undefined,
      email: refusal?.email ?? place.email ?? '',
      error: refusal?.error,
      provider: name === undefined ? undefined : { name, action: place.action },
    });
    if (refusal) response.status(refusal.status);
    response.set(this.#headers).type('html').send(page);
  }

  /**
   * Checks a form that a person sent.
   * @param uid of the authorization that goes on afterwards, if any
   * @returns undefined if the response leads on to the organization's own provider
   */
  async submit(visit: Visit, uid?: string): Promise<SignInResult | undefined> {
    const { request, response } = visit;
    const organization = field(request, 'organization').trim().toLowerCase();
    const email = field(request, 'email').trim();
    const refuse = (status: number, error: string) => ({ kind: 'refused', organization, status, email, error }) as const;
    const to = await this.#federation.begin(visit, organization, uid);
    if (to !== undefined) {
      response.set(this.#headers).type('html').send(continuePage({ to }));
      return undefined;
    }
    if (field(request, 'method') === 'provider') return refuse(422, noProvider(organization));
    const credentials = { organization, email, password: field(request, 'password'), address: forwardedAddress(request) };
    const outcome = await checkPassword(this.#context, credentials);
    if (outcome.kind === 'accepted') return { ...outcome, organization };
    if (outcome.kind === 'refused') return refuse(422, 'Organization, e-mail or password is incorrect.');
    const minutes = Math.ceil(outcome.retryAfterSeconds / 60);
    response.set('Retry-After', String(outcome.retryAfterSeconds));
    return refuse(429, `Too many attempts. Wait ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}, then try again.`);
  }

  /** Has the form propose this organization next time. */
  remember(visit: Visit, organization: string): void {
    const { options, organization: cookie } = cookieSettings(this.#context.issuer);
    cookiesOf(visit).set(cookie, organization, { ...options, maxAge: REMEMBERED_MS });
  }
}
