import { html, type Html } from '@crs/kit/http/html';
import { OAUTH_SCOPES, type OAuthScope } from '@crs/kit/rpc/scopes';
import { day } from './day.ts';
import { TICK, WARNING } from './icons.ts';
import { csrfField, layout } from './layout.ts';
import { SCOPE_WORDS } from './scopes.ts';

/** The form for a new token, with the values that it has at first. */
export interface TokenForm {
  label: string;
  scopes: readonly OAuthScope[];
  days: string;
  maxLabel: number;
  maxDays: number;
  error?: string | undefined;
}

/** @param form undefined: the user has to sign in again first */
export function makeToken(csrf: string, form: TokenForm | undefined): Html {
  if (!form) {
    return html`<div class="between">
      <p class="small muted">To make a token, sign in again first: the last time is more than 10 minutes ago.</p>
      <a class="button" href="/connections?sign-in=again">Sign in again</a>
    </div>`;
  }
  const { label, scopes, days, maxLabel, maxDays, error } = form;
  const describedBy = error ? html`aria-describedby="token-error"` : null;
  return html`<details class="card" ${error ? html`open` : null}>
    <summary>Make a token</summary>
    <form class="stack" method="post" action="/connections/tokens">
      ${csrfField(csrf)}
      ${
        error
          ? html`<div class="note error" id="token-error" role="alert">
              ${WARNING}
              <p>${error}</p>
            </div>`
          : null
      }
      <div>
        <label for="label">Name</label>
        <input id="label" name="label" value="${label}" maxlength="${maxLabel}" autocomplete="off" required ${describedBy} />
        <p class="hint">What uses it, such as “weekly report”.</p>
      </div>
      <fieldset>
        <legend>May read</legend>
        ${OAUTH_SCOPES.map((scope) => scopeBox(scope, scopes.includes(scope)))}
      </fieldset>
      <div>
        <label for="days">Days until it expires</label>
        <input
          id="days"
          name="days"
          type="number"
          min="1"
          max="${maxDays}"
          value="${days}"
          autocomplete="off"
          required
          ${describedBy}
        />
        <p class="hint">1 to ${maxDays}.</p>
      </div>
      <button class="primary">Make the token</button>
    </form>
  </details>`;
}

function scopeBox(scope: OAuthScope, isChecked: boolean): Html {
  const id = `scope-${scope.split(':')[0]}`;
  return html`<div class="box">
    <input type="checkbox" id="${id}" name="scope" value="${scope}" autocomplete="off" ${isChecked ? html`checked` : null} />
    <label for="${id}">${SCOPE_WORDS[scope].title}</label>
  </div>`;
}

/** The only page that shows a token. @param address the MCP server's URL */
export function newTokenPage(page: { label: string; accessToken: string; expiresAt: Date; address: string }): string {
  const { label, accessToken, expiresAt, address } = page;
  const command = [
    'npx @modelcontextprotocol/inspector --cli',
    address,
    '--transport http --method tools/list',
    '--header "Authorization: Bearer $TOKEN"',
  ].join(' \\\n  ');
  const main = html`<div class="card stack">
    <div class="stack close">
      <h1>Your new token</h1>
      <p class="muted"><bdi>${label}</bdi>, valid until ${day(expiresAt)}</p>
    </div>
    <div class="note success" role="status">
      ${TICK}
      <p><strong>Copy it now.</strong> It is shown only this once. Keep it like a password: it reads what you may read.</p>
    </div>
    <div>
      <label for="token">Token</label>
      <textarea id="token" class="address" rows="12" readonly autocomplete="off" spellcheck="false">${accessToken}</textarea>
    </div>
    <section class="stack close" aria-labelledby="use">
      <h2 id="use">Use it</h2>
      <p class="small">
        A script sends it to <bdi>${address}</bdi> as a bearer token. With the token in the variable TOKEN, this lists the tools:
      </p>
      <code class="address command">${command}</code>
    </section>
    <a class="button" href="/connections">Done</a>
  </div>`;
  return layout({ title: 'Your new token', main, width: 'medium' });
}
