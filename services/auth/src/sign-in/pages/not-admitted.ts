import { html, type Html } from '@crs/kit/http/html';
import type { Client, Consent } from './consent.ts';
import { WARNING } from './icons.ts';
import { csrfField, layout } from './layout.ts';

/** Takes the place of the consent page if the user's organization doesn't list the client. */
export function notAdmittedPage({ action, csrf, client, user }: Pick<Consent, 'action' | 'csrf' | 'client' | 'user'>): string {
  const main = html`<form class="card stack" method="post" action="${action}">
    ${csrfField(csrf)}
    <h1>Your organization doesn’t admit this assistant</h1>
    <div class="note error" role="alert">
      ${WARNING}
      <p>
        ${described(client)} wants to read your research. <bdi>${user.organization}</bdi> only admits assistants that it lists.
      </p>
    </div>
    <p>${advice(client)}</p>
    <p class="small muted">
      You are signed in as <bdi>${user.email}</bdi>.
      <button class="link" name="decision" value="switch">Sign in as somebody else</button>
    </p>
    <button class="primary" name="decision" value="deny">Back to the assistant</button>
  </form>`;
  return layout({ title: 'Error: Connect an assistant', main, width: 'medium' });
}

function described({ name, source }: Client): Html {
  const shown = html`<bdi class="clamp">${name}</bdi>`;
  if (source.kind === 'document') return html`${shown}, identified by <bdi class="clamp">${source.host}</bdi>,`;
  return source.kind === 'self' ? html`An assistant that calls itself ${shown}` : shown;
}

function advice({ source }: Client): Html {
  if (source.kind === 'document') {
    return html`To use it, ask your organization’s administrator to list <bdi class="clamp">${source.host}</bdi> with
      <code>crs org update --client-hosts</code>.`;
  }
  return html`It registered itself, so nobody can tell who it is. Ask your organization’s administrator which assistants you may
    connect. The operator of this service can register one with <code>crs client create</code>.`;
}
