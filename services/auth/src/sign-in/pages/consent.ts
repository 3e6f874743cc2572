import { html } from '@crs/kit/http/html';
import type { OAuthScope } from '@crs/kit/product/scopes';
import { INFORMATION, TICK, WARNING } from './icons.ts';
import { csrfField, layout } from './layout.ts';
import { SCOPE_WORDS } from './scopes.ts';

export interface Consent {
  /** The path of the form's target. The form sends `decision`: `allow`, `deny` or `switch` (sign in as somebody else). */
  action: string;
  csrf: string;
  /** @property selfRegistered nobody has checked the name and the URI */
  client: { name: string; uri?: string | undefined; selfRegistered: boolean };
  /** The target of the redirect in a form that people recognize: `claude.ai`, `localhost:33418`, `cursor://`. */
  redirectHost: string;
  /** The redirect goes to a program on the person's own computer. */
  localhostOnly: boolean;
  user: { name: string; email: string; organization: string };
  scopes: readonly OAuthScope[];
}

export function consentPage({ action, csrf, client, redirectHost, localhostOnly, user, scopes }: Consent): string {
  const main = html`<form class="card stack" method="post" action="${action}">
    ${csrfField(csrf)}
    <h1>Let <bdi class="clamp">${client.name}</bdi> read your research?</h1>
    <dl class="facts">
      <div>
        <dt>Signed in as</dt>
        <dd>
          <bdi>${user.name}</bdi> <span class="muted"><bdi>${user.email}</bdi>, <bdi>${user.organization}</bdi></span>
        </dd>
        <dd><button class="link" name="decision" value="switch">Not you? Sign in as somebody else</button></dd>
      </div>
      <div>
        <dt>Sends you to</dt>
        <dd><bdi>${redirectHost}</bdi></dd>
      </div>
      ${
        client.uri
          ? html`<div>
              <dt>${client.selfRegistered ? 'Says it is from' : 'Website'}</dt>
              <dd><bdi class="clamp">${client.uri}</bdi></dd>
            </div>`
          : null
      }
    </dl>
    ${
      localhostOnly
        ? html`<div class="note warning">
            ${WARNING}
            <p>
              <strong>Continue only if you started this yourself just now.</strong> Access goes to a program on this device, and
              we can’t tell which program it is.
            </p>
          </div>`
        : null
    }
    ${
      client.selfRegistered
        ? html`<div class="note">
            ${INFORMATION}
            <p>
              It chose its own name. Nobody checked it. ${localhostOnly ? null : 'Check the address it sends you to instead.'}
            </p>
          </div>`
        : null
    }
    <section aria-labelledby="scopes">
      <h2 id="scopes">It will be able to read</h2>
      <ul class="scopes">
        ${scopes.map(
          (scope) =>
            html`<li>
              ${TICK}
              <p><strong>${SCOPE_WORDS[scope].title}</strong> <span class="muted">${SCOPE_WORDS[scope].detail}</span></p>
            </li>`,
        )}
      </ul>
    </section>
    <p class="small muted">
      It sees only data that you may see, and can’t change anything. It stays connected for up to a year, and not longer than 60
      days without use. You can disconnect it at any time.
    </p>
    <div class="pair">
      <button name="decision" value="deny">Deny</button>
      <button class="primary" name="decision" value="allow">Allow</button>
    </div>
  </form>`;
  return layout({ title: 'Connect an assistant', main, width: 'medium' });
}
