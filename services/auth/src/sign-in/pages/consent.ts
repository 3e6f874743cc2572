import { html } from '@crs/kit/http/html';
import { INFORMATION, TICK, WARNING } from './icons.ts';
import { csrfField, layout } from './layout.ts';
import { SCOPE_WORDS, type Scope } from './scopes.ts';

export interface Consent {
  /** Where the form goes: `decision` is `allow`, `deny` or `switch` (sign in as somebody else). */
  action: string;
  csrf: string;
  /** @property selfRegistered nobody here has checked what it says of itself */
  client: { name: string; uri?: string | undefined; selfRegistered: boolean };
  /** Where the answer goes, for people: `claude.ai`, `localhost:33418`, `cursor://`. */
  redirectHost: string;
  /** Whatever program listens on the person's own computer gets the answer. */
  localhostOnly: boolean;
  user: { name: string; email: string; organization: string };
  scopes: readonly Scope[];
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
              <strong>Only go on if you have just started this yourself.</strong> The answer goes to a program on this device, and
              we can’t tell which one it is.
            </p>
          </div>`
        : null
    }
    ${
      client.selfRegistered
        ? html`<div class="note">
            ${INFORMATION}
            <p>It chose its own name; nobody has checked it. ${localhostOnly ? null : 'Go by where it sends you instead.'}</p>
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
    <p class="small muted">It sees only what you may see, and can’t change anything. You can disconnect it whenever you like.</p>
    <div class="pair">
      <button name="decision" value="deny">Deny</button>
      <button class="primary" name="decision" value="allow">Allow</button>
    </div>
  </form>`;
  return layout({ title: 'Connect an assistant', main, width: 'medium' });
}
