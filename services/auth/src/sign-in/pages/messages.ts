import { html, type Html } from '@crs/kit/http/html';
import { layout } from './layout.ts';

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

export function signedOutPage(): string {
  const text = 'Your connected assistants stay connected.';
  return layout({ title: 'Signed out', main: notice('You are signed out', text, '/connections', 'Sign in again') });
}

/**
 * The response to a form after which the browser continues at the client, at an identity provider or at the authorization. `form-action`
 * would block a redirect to another origin, but not this page's refresh. If `to` opens an app, the browser keeps showing this page.
 */
export function continuePage({ to }: { to: string }): string {
  const text = 'If nothing happens, use the button. If another app has opened, you can close this page.';
  const main = notice('One moment', text, to, 'Continue');
  return layout({ title: 'One moment', main, head: html`<meta http-equiv="refresh" content="0; url=${to}" />` });
}

function notice(heading: string, text: string, to: string, label: string): Html {
  return html`<div class="card stack">
    <div class="stack close">
      <h1>${heading}</h1>
      <p class="muted">${text}</p>
    </div>
    <a class="button" href="${to}">${label}</a>
  </div>`;
}
