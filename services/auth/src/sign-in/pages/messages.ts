import { html, type Html } from '@crs/kit/http/html';
import { layout } from './layout.ts';

/** Says what went wrong and what to do about it. */
export function errorPage(page: { title: string; message: string; requestId: string; status: number }): string {
  const { title, message, requestId, status } = page;
  const main = html`<div class="card stack">
    <div class="stack close">
      <p class="small muted">Error ${status}</p>
      <h1>${title}</h1>
    </div>
    <p>${message}</p>
    <p class="small muted">If you ask for help, give this request ID: <code>${requestId}</code></p>
  </div>`;
  return layout({ title, main });
}

export function signedOutPage({ signIn }: { signIn: string }): string {
  const main = notice('You are signed out', 'Your connected assistants stay connected.', { to: signIn, label: 'Sign in again' });
  return layout({ title: 'Signed out', main });
}

/**
 * The response to a form when the browser must go on to the client, to an identity provider or back to the authorization. A redirect
 * would be bound to this origin by `form-action`; the refresh in this page isn't. If `to` opens an app, this page stays in the browser.
 */
export function continuePage({ to }: { to: string }): string {
  const text = 'If nothing happens, use the button. If another app has opened, you can close this page.';
  const main = notice('One moment', text, { to, label: 'Continue' });
  return layout({ title: 'One moment', main, head: html`<meta http-equiv="refresh" content="0; url=${to}" />` });
}

function notice(heading: string, text: string, button: { to: string; label: string }): Html {
  return html`<div class="card stack">
    <div class="stack close">
      <h1>${heading}</h1>
      <p class="muted">${text}</p>
    </div>
    <a class="button" href="${button.to}">${button.label}</a>
  </div>`;
}
