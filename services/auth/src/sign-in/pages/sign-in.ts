import { html, type Html } from '@crs/kit/http/html';
import { WARNING } from './icons.ts';
import { csrfField, layout } from './layout.ts';

export interface SignIn {
  /** The path of the form's target. The form sends `organization`, `email` and `password`, or `organization` and `method=provider`. */
  action: string;
  csrf: string;
  /** As the person typed it or as this browser remembers it. May be empty. */
  organization: string;
  email: string;
  /** The form shows the organization without asking for it. */
  organizationFixed: boolean;
  /** A link to the same page for another organization. */
  changeOrganization?: string | undefined;
  error?: string | undefined;
  /** The organization has its own provider. The form then asks for no password. */
  provider?: { name: string; action: string } | undefined;
}

export function signInPage(page: SignIn): string {
  const { error, provider, organization, organizationFixed, changeOrganization } = page;
  const main = html`<div class="card stack">
    <div class="stack close">
      <h1>Sign in</h1>
      ${
        organizationFixed || provider
          ? html`<p class="muted">
              to <strong><bdi>${organization}</bdi></strong>
              ${changeOrganization ? html` · <a href="${changeOrganization}">another organization</a>` : null}
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
    ${provider ? providerForm(page, provider) : passwordForm(page)}
  </div>`;
  return layout({ title: error ? 'Error: Sign in' : 'Sign in', main });
}

function passwordForm({ action, csrf, organization, email, organizationFixed, error }: SignIn): Html {
  const describedBy = error ? html`aria-describedby="error"` : null;
  const organizationDescribedBy = error ? 'organization-hint error' : 'organization-hint';
  const first = [organization, email].findIndex((value) => value === '');
  const focus = (place: number) => ((first === -1 ? 2 : first) === place ? html`autofocus` : null);
  return html`<form class="stack" method="post" action="${action}">
    ${csrfField(csrf)}
    ${
      organizationFixed
        ? html`<input type="hidden" name="organization" value="${organization}" />`
        : html`<div>
            <label for="organization">Organization</label>
            <input
              id="organization"
              name="organization"
              value="${organization}"
              autocomplete="organization"
              autocapitalize="none"
              spellcheck="false"
              maxlength="40"
              required
              aria-describedby="${organizationDescribedBy}"
              ${focus(0)}
            />
            <p class="hint" id="organization-hint">Its short name, such as acme</p>
          </div>`
    }
    <div>
      <label for="email">E-mail</label>
      <input
        id="email"
        name="email"
        type="email"
        value="${email}"
        autocomplete="username"
        autocapitalize="none"
        spellcheck="false"
        maxlength="254"
        required
        ${describedBy}
        ${focus(1)}
      />
    </div>
    <div>
      <label for="password">Password</label>
      <input
        id="password"
        name="password"
        type="password"
        autocomplete="current-password"
        maxlength="1024"
        required
        ${describedBy}
        ${focus(2)}
      />
    </div>
    <button class="primary">Sign in</button>
    ${
      organizationFixed
        ? null
        : // A user whose organization has a provider has no password to type.
          html`<div class="or">or</div>
            <button name="method" value="provider" formnovalidate>Use single sign-on</button>`
    }
  </form>`;
}

function providerForm({ csrf, organization, error }: SignIn, { name, action }: { name: string; action: string }): Html {
  return html`<form class="stack" method="post" action="${action}">
    ${csrfField(csrf)}
    <input type="hidden" name="organization" value="${organization}" />
    <p>You sign in at your organization and come back here afterwards.</p>
    <button class="primary" ${error ? html`aria-describedby="error"` : null}>
      <span>Continue with <bdi>${name}</bdi></span>
    </button>
  </form>`;
}
