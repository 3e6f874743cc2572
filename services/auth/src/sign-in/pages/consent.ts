import { html, type Html } from '@crs/kit/http/html';
import type { OAuthScope } from '@crs/kit/rpc/scopes';
import type { ClientSource } from '../clients.ts';
import { INFORMATION, WARNING } from './icons.ts';
import { csrfField, layout } from './layout.ts';
import { scopeList } from './scopes.ts';

/** The page shows no other claims of the client, such as its website, logo or policy, because nobody has checked them. */
export interface Client {
  name: string;
  source: ClientSource;
}

export interface Consent {
  /** Where the form is posted, with the `decision`: `allow`, `deny` or `switch` (sign in as another user). */
  action: string;
  csrf: string;
  client: Client;
  /** @property host as users recognize it: `claude.ai`, `localhost:33418`, `cursor://` */
  redirect: { host: string; isApp: boolean };
  user: { name: string; email: string; organization: string };
  scopes: readonly OAuthScope[];
}

export function consentPage({ action, csrf, client, redirect, user, scopes }: Consent): string {
  const main = html`<form class="card stack" method="post" action="${action}">
    ${csrfField(csrf)}
    <h1>${heading(client)}</h1>
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
        ${
          redirect.isApp
            ? html`<dd>
                an app on this computer <span class="muted"><bdi>${redirect.host}</bdi></span>
              </dd>`
            : html`<dd><bdi>${redirect.host}</bdi></dd>`
        }
      </div>
    </dl>
    ${
      redirect.isApp
        ? html`<div class="note warning">
            ${WARNING}
            <p>
              <strong>Continue only if you started this yourself just now.</strong> Access goes to an app on this computer, and we
              can’t tell which app it is.
            </p>
          </div>`
        : null
    }
    ${
      client.source.kind === 'self'
        ? html`<div class="note">
            ${INFORMATION}
            <p>
              The name is the assistant’s own claim. Nobody has checked it.
              ${redirect.isApp ? null : 'Check the address it sends you to instead.'}
            </p>
          </div>`
        : null
    }
    <section aria-labelledby="scopes">
      <h2 id="scopes">It will be able to read</h2>
      ${scopeList(scopes)}
    </section>
    <p class="small muted">
      It sees only data that you may see, and can’t change anything. It stays connected for up to a year, and not longer than 60
      days without use. You can disconnect it at any time.
    </p>
    <div class="pair">
      <button name="decision" value="deny">Deny</button>
      ${allowButton()}
    </div>
    <p class="small muted tap-hint">Tap Allow twice. The first tap only unlocks the button.</p>
  </form>`;
  return layout({ title: 'Connect an assistant', main, width: 'medium' });
}

function heading({ name, source }: Client): Html {
  const shown = html`<bdi class="clamp">${name}</bdi>`;
  // The comma is inside the box, because a line could break between the two.
  const withComma = html`<span class="clamp"><bdi>${name}</bdi>,</span>`;
  switch (source.kind) {
    case 'operator':
      return html`Let ${shown} read your research?`;
    case 'document':
      return html`Let ${withComma} identified by <bdi>${source.host}</bdi>, read your research?`;
    case 'self':
      return html`Let an assistant that calls itself ${shown} read your research?`;
  }
}

/**
 * The Allow button, under a cover against double-clickjacking: another page can get a user's second click onto this one, by a popup above
 * the button that closes at the first click, or by navigating this window between the two.
 *
 * The stylesheet removes the cover 0.7 s after the pointer enters the form. On touch screens the first tap checks the radio button, and the
 * cover goes 0.7 s later. (A second tap would uncheck a checkbox.) The keyboard needs no cover: the button must have no id, so another page
 * can't move the focus to it by a URL's fragment.
 */
function allowButton(): Html {
  return html`<div class="guarded">
    <input type="radio" id="tapped" autocomplete="off" hidden />
    <button class="primary" name="decision" value="allow">Allow</button>
    <label class="cover" for="tapped" aria-hidden="true"></label>
  </div>`;
}
