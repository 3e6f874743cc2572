import { html } from '@crs/kit/http/html';
import { layout } from './layout.ts';

/** What can't go on, and what to do about it. */
export function errorPage(page: { title: string; message: string; requestId: string; status: number }): string {
  const { title, message, requestId, status } = page;
  const main = html`<div class="card stack">
    <div class="stack close">
      <p class="small muted">Error ${status}</p>
      <h1>${title}</h1>
    </div>
    <p>${message}</p>
    <p class="small muted">If you ask for help, name this request: <code>${requestId}</code></p>
  </div>`;
  return layout({ title, main });
}

export function signedOutPage({ signIn }: { signIn: string }): string {
  const main = html`<div class="card stack">
    <div class="stack close">
      <h1>You are signed out</h1>
      <p class="muted">Assistants that you have connected stay connected.</p>
    </div>
    <a class="button" href="${signIn}">Sign in again</a>
  </div>`;
  return layout({ title: 'Signed out', main });
}

/**
 * The answer to a post that leads on: to the client, to an identity provider or back into the authorization. A navigation of its own, as
 * `form-action` would hold redirects to this origin; and where an app opens beside the browser, this page is what stays.
 */
export function continuePage({ to }: { to: string }): string {
  const main = html`<div class="card stack">
    <div class="stack close">
      <h1>One moment</h1>
      <p class="muted">If nothing happens, continue by the button. If another app has opened, you can close this page.</p>
    </div>
    <a class="button" href="${to}">Continue</a>
  </div>`;
  return layout({ title: 'One moment', main, head: html`<meta http-equiv="refresh" content="0; url=${to}" />` });
}
