import { html, type Html } from '@crs/kit/http/html';
import { WARNING } from './icons.ts';
import { csrfField, layout } from './layout.ts';

export interface SignIn {
  /** The field of the page besides the e-mail. With `provider`, it offers the organization's own provider. */
  step: 'email' | 'organization' | 'password' | 'provider';
  /** Where the form is posted: `organization`, `email`, and `password` or `method=provider`, if known. */
  action: string;
  csrf: string;
  /** As typed, or from the browser's cookie. May be empty. */
  organization: string;
  email: string;
  /** The URL of the page with the field for the organization. */
  changeOrganization: string;
  error?: string | undefined;
  /** The host of the organization's own provider, for the step `provider`. */
  provider?: string | undefined;
}

export function signInPage(page: SignIn): string {
  const { step, error, organization, changeOrganization } = page;
  const isFixed = step !== 'organization' && organization !== '';
  const main = html`<div class="card stack">
    <div class="stack close">
      <h1>Sign in</h1>
      ${
        isFixed
          ? html`<p class="muted">
              to <strong><bdi>${organization}</bdi></strong> · <a href="${changeOrganization}">another organization</a>
            </p>`
          : html`<p class="muted">With your account in your organization.</p>`
      }
    </div>
    ${
      error
        ? html`<div class="note error" id="error" role="alert">
            ${WARNING}
            <p>${error}</p>
          </div>`
        : null
    }
    <form class="stack" method="post" action="${page.action}">
      ${csrfField(page.csrf)} ${isFixed ? html`<input type="hidden" name="organization" value="${organization}" />` : null}
      ${step === 'provider' ? provider(page) : fields(page)}
    </form>
    ${
      step === 'password'
        ? html`<p class="small muted">
            Forgot your password? Ask your organization’s administrator for a new one. It is set with
            <code>crs user set-password</code>.
          </p>`
        : null
    }
  </div>`;
  return layout({ title: error ? 'Error: Sign in' : 'Sign in', main });
}

function fields({ step, organization, email, error }: SignIn): Html {
  const inputs = { email, ...(step === 'organization' && { organization }), ...(step === 'password' && { password: '' }) };
  const empty = Object.entries(inputs).find(([, value]) => value === '')?.[0];
  const focused = empty ?? Object.keys(inputs).at(-1);
  const input = (name: string, label: string, attributes: Html, hint?: string) => {
    const describedBy = [hint && `${name}-hint`, error && 'error'].filter(Boolean).join(' ');
    return html`<div>
      <label for="${name}">${label}</label>
      <input
        id="${name}"
        name="${name}"
        required
        ${attributes}
        ${describedBy ? html`aria-describedby="${describedBy}"` : null}
        ${name === focused ? html`autofocus` : null}
      />
      ${hint ? html`<p class="hint" id="${name}-hint">${hint}</p>` : null}
    </div>`;
  };
  const asTyped = html`autocapitalize="none" spellcheck="false"`;
  const emailInput = html`type="email" value="${email}" autocomplete="username" maxlength="254" ${asTyped}`;
  const organizationInput = html`value="${organization}" autocomplete="organization" maxlength="40" ${asTyped}`;
  const passwordInput = html`type="password" autocomplete="current-password" maxlength="1024"`;
  return html`${input('email', 'E-mail', emailInput)}
    ${step === 'organization' ? input('organization', 'Organization', organizationInput, 'Its short name, such as acme') : null}
    ${step === 'password' ? input('password', 'Password', passwordInput) : null}
    <button class="primary">${step === 'password' ? 'Sign in' : 'Continue'}</button>`;
}

function provider({ email, error, provider: name }: SignIn): Html {
  return html`<input type="hidden" name="email" value="${email}" />
    <input type="hidden" name="method" value="provider" />
    <p>You sign in at your organization and come back here afterwards.</p>
    <button class="primary" ${error ? html`aria-describedby="error"` : null}>
      <span>Continue with <bdi>${name ?? ''}</bdi></span>
    </button>`;
}
